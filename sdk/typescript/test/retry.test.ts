import { ConflictError, ConnectionError, NotFoundError, TooManyRequestsError, UnavailableError } from "galley-sdk";
import { expect, test } from "vitest";
import { flaky, forward, serve } from "./proxy.js";
import { start } from "./server.js";

test("every write happens once, however many responses are lost", async () => {
  const server = await start();
  const galley = server.client();
  const unreliable = new (galley.constructor as typeof import("galley-sdk").Galley)(await flaky(server.url, 1), {
    key: server.key, retries: 30, pause: 1,
  });
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
