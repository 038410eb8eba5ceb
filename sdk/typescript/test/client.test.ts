import { BadRequestError, ConflictError, GalleyError, NotFoundError, type PageOperation, PreconditionFailedError, UnauthorizedError, etag } from "galley-sdk";
import { expect, test } from "vitest";
import { start } from "./server.js";

test("from nothing to a live page", async () => {
  const galley = (await start()).client({ actor: "ada@example.com" });
  const site = await galley.sites.create({ name: "Shop", hostOrigin: "https://www.example.com", labels: ["eu"] });
  const page = await galley.pages.create({ siteId: site.id, pathname: "/about", title: "About <us>" });
  await galley.locales.create({ siteId: site.id, locale: "fr" });

  // Three states: a value, null, absent.
  await galley.pages.update(page.id, { title: "Sur nous", description: null }, { locale: "fr" });
  const shown = await galley.pages.get("/about", { siteId: site.id, locale: "fr" });
  expect([shown.title, shown.overrides]).toEqual(["Sur nous", ["title"]]);

  // Entity tags.
  const read = await galley.pages.get(page.id);
  const written = await galley.pages.update(page.id, { title: "About" }, { ifMatch: read });
  await expect(galley.pages.update(page.id, { title: "Lost" }, { ifMatch: etag(read) })).rejects.toThrow(PreconditionFailedError);
  await galley.pages.update(page.id, { title: "About us" }, { ifMatch: written });
  await expect(galley.pages.update(page.id, { title: "Lost" }, { ifMatch: { ...read } })).rejects.toThrow(TypeError);

  const content = { text: "a < b & c", n: 1.5, "ключ": [null, true] };
  await galley.content.put(page.id, content, { ifNoneMatch: "*" });
  await expect(galley.content.put(page.id, content, { ifNoneMatch: "*" })).rejects.toThrow(PreconditionFailedError);
  await galley.pages.batch({
    siteId: site.id,
    operations: [
      { op: "create", pathname: "/b", content },
      { op: "update", pageId: page.id, isOnline: true },
    ],
  });
  for (const pathname of ["/about", "/b"]) {
    expect((await galley.pages.get(pathname, { siteId: site.id, include: "content" })).content).toEqual(content);
  }

  const dry = await galley.sites.dryRun(site.id);
  const review = await galley.sites.changes(site.id);
  const publish = await galley.sites.publish(site.id, { plan: dry.plan, name: "First" });
  expect(publish).toMatchObject({ status: "published", changeCount: review.data.length, actor: "ada@example.com" });
  expect(review.plan).toBe(dry.plan);
  expect(await galley.resolve({ url: "https://www.example.com/about" })).toMatchObject({ kind: "page", page: { id: page.id } });
  expect(await galley.sites.sitemap(site.id)).toContain("<loc>https://www.example.com/about</loc>");
  expect((await galley.operations.profile("heap")).size).toBeGreaterThan(0);

  // Errors say what is wrong with which field.
  const refused = await galley.pages.create({ siteId: site.id, pathname: "/b", sitemapPriority: 2 }).catch((error) => error);
  expect(refused).toBeInstanceOf(BadRequestError);
  expect(refused).toBeInstanceOf(GalleyError);
  expect(refused).toMatchObject({ code: "bad_request", status: 400, details: [{ field: "sitemapPriority" }] });
  expect(refused.requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(refused.message).toContain("sitemapPriority");
  await expect(galley.pages.create({ siteId: site.id, pathname: "/b" })).rejects.toThrow(ConflictError);
  await expect(galley.pages.delete("/nothing", { siteId: site.id })).rejects.toThrow(NotFoundError);
  expect(await galley.pages.delete("/b", { siteId: site.id })).toBeUndefined();
  for (const id of ["", ".", ".."]) expect(() => galley.pages.delocalize(page.id, id)).toThrow(TypeError);
});

test("a wrong key is an UnauthorizedError", async () => {
  const server = await start();
  await expect(server.client({ key: "sk_wrong" }).me()).rejects.toThrow(UnauthorizedError);
  expect(await server.client().me()).toMatchObject({ kind: "app" });
});

test("lists are awaited page by page and iterated as a whole", async () => {
  const server = await start();
  const galley = server.client();
  const site = await galley.sites.create({ name: "Shop" });
  const pathnames = Array.from({ length: 250 }, (_, i) => `/p-${String(i).padStart(3, "0")}`);
  await galley.pages.batch({ siteId: site.id, operations: pathnames.map((pathname): PageOperation => ({ op: "create", pathname })) });

  const list = galley.pages.list({ siteId: site.id, sortBy: "path" });
  const page = await list;
  expect([page.data.length, page.hasMore]).toEqual([20, true]);
  const next = await galley.pages.list({ siteId: site.id, sortBy: "path", limit: 3, startingAfter: page.data.at(-1)!.id });
  expect(next.data.map((p) => p.pathname)).toEqual(pathnames.slice(20, 23));

  const all = async <T>(items: AsyncIterable<T>) => {
    const met: T[] = [];
    for await (const item of items) met.push(item);
    return met;
  };
  expect((await all(list)).map((p) => p.pathname)).toEqual(pathnames);
  const rest = galley.pages.list({ siteId: site.id, sortBy: "path", limit: 7, startingAfter: page.data.at(-1)!.id });
  expect((await all(rest)).map((p) => p.pathname)).toEqual(pathnames.slice(20));
  expect((await all(galley.pages.tree({ siteId: site.id }))).map((s) => s.pathname)).toEqual(pathnames); // its cursor is a pathname
  expect(await all(galley.sites.changes(site.id))).toHaveLength(250);
  await galley.sites.publish(site.id, { publishAt: "2099-01-01T00:00:00Z" });
  expect(await all(galley.publishes.scheduled())).toHaveLength(1);
  await galley.sites.publish(site.id);
  const runtime = server.client({ key: site.publicApiKey }).runtime.list({ sortBy: "path" });
  expect((await all(runtime)).map((p) => p.path)).toEqual(pathnames); // its cursor is named after

  const nowhere = galley.pages.list({ siteId: "01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b" });
  await expect(nowhere).rejects.toThrow(NotFoundError);
  await expect(all(nowhere)).rejects.toThrow(NotFoundError);
  expect(await nowhere.catch(() => "caught")).toBe("caught");
});
