import { Galley, type Event, type Page, type Publish, type PublishDryRun } from "galley-sdk";

/** What must compile, and what must not. It is compiled, and never run. */
export async function types(galley: Galley) {
  const page: Page = await galley.pages.create({ siteId: "s", pathname: "/a", title: null });
  const discarded: Page | undefined = await galley.pages.discard(page.id, { actor: "ada@example.com" });
  const publish: Publish = await galley.sites.publish("s", { publishAt: null }, { idempotencyKey: "k" });
  const dry: PublishDryRun = await galley.sites.dryRun("s");
  const profile: Blob = await galley.operations.profile("heap");
  const sitemap: string = await galley.sites.sitemap("s", { part: 1 });
  const nothing: undefined = await galley.pages.delocalize("id", "fr", { ifMatch: page });
  for await (const p of galley.pages.list({ siteId: "s", status: ["new", "changed"] })) p satisfies Page;
  for await (const e of galley.events.stream({ types: ["page.created"], since: new Date() })) e satisfies Event;
  const { plan, data } = await galley.sites.changes("s", { pageIds: ["a", "b"] });

  // @ts-expect-error siteId is missing.
  galley.pages.list();
  // @ts-expect-error There is no such parameter.
  galley.pages.list({ siteId: "s", local: "fr" });
  // @ts-expect-error There is no such field.
  galley.pages.create({ siteId: "s", pathname: "/a", titel: "A" });
  // @ts-expect-error The pathname can't be null.
  galley.pages.create({ siteId: "s", pathname: null });
  // @ts-expect-error A read has no condition.
  galley.pages.get("id", { ifMatch: page });
  // @ts-expect-error The method sets the status.
  galley.publishes.scheduled({ status: "scheduled" });
  // @ts-expect-error An app is no list.
  for await (const _ of galley.apps.get("id"));
  // @ts-expect-error There is no body.
  galley.pages.restore("id", {}, {});
  // @ts-expect-error There is a method for that.
  galley.sites.publish("s", { dryRun: true });
  return [discarded, publish, dry, profile, sitemap, nothing, plan, data];
}
