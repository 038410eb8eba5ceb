import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { bundle } from "./bundle.js";
import { forward, serve } from "./proxy.js";
import { start } from "./server.js";

/** Writes through the page's own origin with an App key, and reads from the server's with a Site key. */
const script = (server: string, key: string) => `
import { Galley, NotFoundError, verifyWebhook } from "/galley.js";
async function run() {
  const galley = new Galley(location.origin, { key: "${key}" });
  const site = await galley.sites.create({ name: "Shop" });
  const events = galley.events.stream({ siteId: site.id, since: new Date(0) });
  for (let i = 0; i < 3; i++) await galley.pages.create({ siteId: site.id, pathname: "/p-" + i });
  await galley.sites.publish(site.id);
  const reader = new Galley("${server}", { key: site.publicApiKey });
  const pathnames = [];
  for await (const page of reader.runtime.list({ sortBy: "path", limit: 2 })) pathnames.push(page.path);
  const page = await reader.pages.get("/p-0", { siteId: site.id });
  const missing = await reader.runtime.get("/nothing").catch((error) => error instanceof NotFoundError);
  const unsigned = await verifyWebhook("whsec_AAAA", new Headers(), "{}").catch((error) => error.name);
  const { value } = await events.next();
  return { pathnames, page: page.pathname, missing, unsigned, event: value.type };
}
const result = await run().catch((error) => String(error));
if (self.document) {
  new Worker("/script.js", { type: "module" }).onmessage = ({ data }) =>
    fetch("/result", { method: "POST", body: JSON.stringify({ page: result, worker: data }) });
} else {
  postMessage(result);
}
`;

test("it runs in a browser and in a worker", async () => {
  const server = await start("--cors-origins", "*");
  const files: Record<string, [type: string, text: string]> = {
    "/": ["text/html", '<!doctype html><script type="module" src="/script.js"></script>'],
    "/script.js": ["text/javascript", script(server.url, server.key)],
    "/galley.js": ["text/javascript", await bundle()],
  };
  let finish: (result: string) => void;
  const result = new Promise<string>((resolve) => (finish = resolve));
  const url = await serve(async (r, w) => {
    const file = files[r.url!];
    if (file) return w.writeHead(200, { "content-type": file[0] }).end(file[1]);
    if (r.url === "/result") return finish(await text(r));
    const response = await forward(server.url, r);
    w.writeHead(response.statusCode!, response.headers);
    response.pipe(w);
  });
  const profile = mkdtempSync(join(tmpdir(), "galley-sdk-chromium-"));
  const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", `--user-data-dir=${profile}`, url];
  const chromium = spawn("chromium", args, { stdio: "ignore", detached: true });
  onTestFinished(async () => {
    process.kill(-chromium.pid!, "SIGKILL"); // with the processes that it has started
    if (chromium.exitCode === null) await once(chromium, "exit");
    rmSync(profile, { recursive: true, maxRetries: 5 });
  });
  const right = { pathnames: ["/p-0", "/p-1", "/p-2"], page: "/p-0", missing: true, unsigned: "SignatureError", event: "site.created" };
  expect(JSON.parse(await result)).toEqual({ page: right, worker: right });
});
