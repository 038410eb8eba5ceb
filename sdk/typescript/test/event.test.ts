import { createHmac } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { BadRequestError, type Event, Galley, SignatureError, verifyWebhook } from "galley-sdk";
import { expect, test } from "vitest";
import { forward, serve } from "./proxy.js";
import { start } from "./server.js";

test("events are followed, also when the connection is cut", async () => {
  const server = await start();
  const galley = server.client();
  const site = await galley.sites.create({ name: "Shop" });
  const first = await galley.events.list({ siteId: site.id });
  expect(first.data.map((e) => e.type)).toEqual(["site.created"]);

  // The proxy cuts each connection within the first event that it passes on after a whole one.
  const resumed: unknown[] = [];
  const proxy = await serve(async (r, w) => {
    resumed.push(r.headers["last-event-id"]);
    const response = await forward(server.url, r);
    w.writeHead(response.statusCode!, response.headers).flushHeaders();
    let whole = 0;
    response.on("data", (part: Buffer) => {
      if (part.includes("data: ") && whole++ > 0) {
        w.write(part.subarray(0, part.length / 2), () => w.destroy());
        response.destroy();
      } else {
        w.write(part);
      }
    });
    response.on("error", () => {});
  });
  const follower = new Galley(proxy, { key: server.key, pause: 1 });
  const met: Event[] = [];
  await galley.pages.create({ siteId: site.id, pathname: "/p-0" });
  for await (const event of follower.events.stream({ siteId: site.id, types: ["page.created"], startingAfter: first.data[0]!.id })) {
    if (met.push(event) === 5) break;
    await galley.pages.create({ siteId: site.id, pathname: `/p-${met.length}` });
  }
  expect(met.map((e) => e.data.pathname)).toEqual(["/p-0", "/p-1", "/p-2", "/p-3", "/p-4"]);
  expect(resumed[0]).toBeUndefined();
  expect(resumed.length).toBeGreaterThan(1);
  for (const id of resumed.slice(1)) expect(met.map((e) => e.id)).toContain(id);

  const refused = galley.events.stream({ types: ["nothing.happened"] });
  await expect(refused.next()).rejects.toThrow(BadRequestError);
  const abort = new AbortController();
  const ended = galley.events.stream({ signal: abort.signal }).next();
  abort.abort(new Error("enough"));
  await expect(ended).rejects.toThrow("enough");
});

test("a stream that is silent for the timeout is opened again", async () => {
  let connections = 0;
  const url = await serve((_, w) => {
    w.writeHead(200, { "content-type": "text/event-stream" }).write(": hello\n\n");
    if (++connections >= 3) w.write('id: 1\ndata: {"id":"1"}\n\n');
  });
  const { value } = await new Galley(url, { timeout: 300, pause: 1 }).events.stream().next();
  expect(value).toEqual({ id: "1" });
  expect(connections).toBeGreaterThanOrEqual(3);
});

test("webhooks are verified", async () => {
  const galley = (await start("--webhook-allow-networks", "127.0.0.0/8")).client();
  let received: (message: { headers: Record<string, string | string[] | undefined>; body: Uint8Array<ArrayBuffer> }) => void;
  const message = new Promise<Parameters<typeof received>[0]>((resolve) => (received = resolve));
  const url = await serve(async (r, w) => {
    received({ headers: r.headers, body: new Uint8Array(await buffer(r)) });
    w.end();
  });
  const { id, secret } = await galley.webhooks.create({ url });
  await galley.webhooks.test(id);
  const { headers, body } = await message;
  const text = new TextDecoder().decode(body);
  expect(await verifyWebhook(secret, headers, body)).toMatchObject({ type: "webhook.test", id: headers["webhook-id"] });
  expect(await verifyWebhook(secret, new Headers(headers as Record<string, string>), text)).toMatchObject({ type: "webhook.test" });
  const both = { ...headers, "webhook-signature": `v1,AAAA v2,bad v1,*** ${headers["webhook-signature"]}` };
  expect(await verifyWebhook(secret, both, text)).toMatchObject({ type: "webhook.test" });

  const { secret: other } = await galley.webhooks.create({ url });
  const bad: [string, typeof headers, string][] = [
    [secret, headers, text + " "],
    [secret, { ...headers, "webhook-timestamp": undefined }, text],
    [secret, { ...headers, "webhook-id": "another" }, text],
    [secret, { ...headers, "webhook-signature": undefined }, text],
    [other, headers, text],
  ];
  // Old, but signed.
  const old = `${headers["webhook-id"]}.1000000000.`;
  const signature = createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64")).update(old + text).digest("base64");
  bad.push([secret, { ...headers, "webhook-timestamp": "1000000000", "webhook-signature": `v1,${signature}` }, text]);
  for (const [key, sent, content] of bad) await expect(verifyWebhook(key, sent, content)).rejects.toThrow(SignatureError);
});
