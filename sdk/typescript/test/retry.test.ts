import type { IncomingMessage } from "node:http";
import { ConnectionError, Galley, GalleyError, NotFoundError, UnavailableError } from "galley-sdk";
import { expect, test } from "vitest";
import { flaky, serve } from "./proxy.js";
import { start } from "./server.js";

test("every write happens once, however many responses are lost", { timeout: 600_000 }, async () => {
  const server = await start();
  const galley = server.client();
  const unreliable = new Galley(await flaky(server.url, 1), { key: server.key, retries: 30, pause: 1, timeout: 5000 });
  const site = await unreliable.sites.create({ name: "Shop" });
  const count = 1000;
  const ids: string[] = [];
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < count; i = next++) {
      ids[i] = (await unreliable.pages.create({ siteId: site.id, pathname: `/p-${i}` })).id;
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  const stored = new Map<string, string>();
  for await (const page of galley.pages.list({ siteId: site.id })) stored.set(page.pathname, page.id);
  expect(stored.size).toBe(count);
  expect(new Set(ids).size).toBe(count);
  for (let i = 0; i < count; i++) expect(stored.get(`/p-${i}`)).toBe(ids[i]);
  expect((await galley.sites.summary(site.id)).pages).toBe(count);

  // A delete that finds nothing after a lost response is done.
  for (const id of ids.slice(0, 100)) await unreliable.pages.delete(id);
  expect((await galley.sites.summary(site.id)).pages).toBe(count - 100);
});

/** A server that answers with the given statuses in turn (0: no response), and then with 200. */
async function scripted(...statuses: number[]) {
  const requests: IncomingMessage[] = [];
  const url = await serve((r, w) => {
    const status = statuses[requests.push(r) - 1] ?? 200;
    if (status === 0) return void w.destroy();
    w.writeHead(status, { "content-type": "application/json", "retry-after": status === 429 ? "1" : "" }).end("{}");
  });
  return { requests, galley: new Galley(url, { pause: 1, retries: 3 }) };
}

test("429, 503 and lost responses are tried again with the same Idempotency-Key", async () => {
  const { requests, galley } = await scripted(429, 503, 0);
  const begun = Date.now();
  await galley.pages.create({ siteId: "s", pathname: "/a" });
  expect(Date.now() - begun).toBeGreaterThanOrEqual(990); // Retry-After
  const keys = requests.map((r) => r.headers["idempotency-key"]);
  expect(keys).toHaveLength(4);
  expect(new Set(keys).size).toBe(1);
  await galley.pages.create({ siteId: "s", pathname: "/b" });
  expect(requests[4]!.headers["idempotency-key"]).not.toBe(keys[0]);
  await galley.pages.create({ siteId: "s", pathname: "/b" }, { idempotencyKey: "mine" });
  expect(requests[5]!.headers["idempotency-key"]).toBe("mine");
});

test.each([
  ["503", [503, 503, 503, 503], UnavailableError, 4],
  ["504 of a proxy", [504, 504, 504, 504], UnavailableError, 4],
  ["no response", [0, 0, 0, 0], ConnectionError, 4],
  ["409", [409], GalleyError, 1],
  ["500", [500], GalleyError, 1],
])("after the retries the error is the last one: %s", async (_, statuses, error, count) => {
  const { requests, galley } = await scripted(...statuses);
  await expect(galley.pages.create({ siteId: "s", pathname: "/a" })).rejects.toThrow(error);
  expect(requests).toHaveLength(count);
});

test("after a lost response a DELETE that finds nothing is done, and a POST in progress is tried again", async () => {
  const { galley } = await scripted(0, 404, 404, 0, 409, 409);
  await galley.pages.delete("id");
  await expect(galley.pages.delete("id")).rejects.toThrow(NotFoundError);
  await galley.pages.publish("id");
});

test("a conditional write is not repeated after a lost response, since it may have changed the entity tag", async () => {
  const { requests, galley } = await scripted(0, 503);
  await expect(galley.pages.update("id", {}, { ifMatch: '"1"' })).rejects.toThrow(ConnectionError);
  expect(requests).toHaveLength(1);
  await galley.pages.update("id", {}, { ifMatch: '"1"' });
  expect(requests).toHaveLength(3);
});

test("a silent server counts as lost after the timeout, and the signal ends a call", async () => {
  let requests = 0;
  const url = await serve(() => void requests++);
  await expect(new Galley(url, { timeout: 20, retries: 2, pause: 1 }).me()).rejects.toThrow(ConnectionError);
  expect(requests).toBe(3);
  const abort = new AbortController();
  const call = new Galley(url).me({ signal: abort.signal });
  abort.abort(new Error("enough"));
  await expect(call).rejects.toThrow("enough");
  const busy = await serve((_, w) => w.writeHead(503, { "retry-after": "3600" }).end());
  const waiting = new Galley(busy).me({ signal: AbortSignal.timeout(100) });
  await expect(waiting).rejects.toThrow(DOMException);
});
