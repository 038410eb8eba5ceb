import { readFileSync } from "node:fs";
import { Galley } from "galley-sdk";
import { expect, test } from "vitest";

interface Operation {
  operationId: string;
  requestBody?: unknown;
  responses: Record<string, { content?: Record<string, { schema: { $ref?: string } }> }>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties?: object }> };
}
const document: Document = JSON.parse(readFileSync("../../api/openapi.json", "utf8"));

/** The methods, by the operations of the interface document. */
const methods: Record<string, string> = {
  listApps: "apps.list", createApp: "apps.create", getApp: "apps.get", updateApp: "apps.update", deleteApp: "apps.delete", rotateAppKey: "apps.rotate",
  listAudit: "audit.list",
  listLocales: "locales.list", createLocale: "locales.create", getLocale: "locales.get", updateLocale: "locales.update",
  deleteLocale: "locales.delete", restoreLocale: "locales.restore",
  getCredential: "me", getWorkspace: "workspace", resolveUrl: "resolve",
  listPreviews: "previews.list", createPreview: "previews.create", getPreview: "previews.get", deletePreview: "previews.delete",
  listScheduledPublishes: "publishes.scheduled", getPublish: "publishes.get", cancelPublish: "publishes.cancel",
  listPublishChanges: "publishes.changes", listPublishUrls: "publishes.urls", restorePublish: "publishes.restore",
  listRedirects: "redirects.list", createRedirect: "redirects.create", getRedirect: "redirects.get", updateRedirect: "redirects.update",
  deleteRedirect: "redirects.delete", restoreRedirect: "redirects.restore", discardRedirect: "redirects.discard", batchRedirects: "redirects.batch",
  listRoutes: "routes.list", createRoute: "routes.create", getRoute: "routes.get", updateRoute: "routes.update", deleteRoute: "routes.delete",
  listSites: "sites.list", createSite: "sites.create", getSite: "sites.get", updateSite: "sites.update", deleteSite: "sites.delete",
  restoreSite: "sites.restore", duplicateSite: "sites.duplicate", rotateSiteKey: "sites.rotateKey", listSitePages: "sites.pages",
  listChanges: "sites.changes", publishSite: "sites.publish", discardSite: "sites.discard", listPublishes: "sites.publishes",
  getSitemap: "sites.sitemap", getRobots: "sites.robots", getSiteSummary: "sites.summary",
  listRuntimePages: "runtime.list", getRuntimePage: "runtime.get",
  listPages: "pages.list", createPage: "pages.create", getPage: "pages.get", updatePage: "pages.update", deletePage: "pages.delete",
  restorePage: "pages.restore", delocalizePage: "pages.delocalize", batchPages: "pages.batch", getTree: "pages.tree",
  publishPage: "pages.publish", discardPage: "pages.discard", listPagePublishes: "pages.publishes",
  getContent: "content.get", putContent: "content.put", deleteContent: "content.delete", diffContent: "content.diff",
  listEvents: "events.list", streamEvents: "events.stream",
  listWebhooks: "webhooks.list", createWebhook: "webhooks.create", getWebhook: "webhooks.get", updateWebhook: "webhooks.update",
  deleteWebhook: "webhooks.delete", rotateWebhookSecret: "webhooks.rotateSecret", testWebhook: "webhooks.test", replayWebhook: "webhooks.replay",
  listDeliveries: "webhooks.deliveries", getDelivery: "webhooks.delivery", redeliver: "webhooks.redeliver",
  getHealth: "operations.health", getReadiness: "operations.ready", getDocument: "operations.document",
  getReference: "operations.reference", getMetrics: "operations.metrics", getProfile: "operations.profile",
};

const operations = Object.entries(document.paths).flatMap(([path, byMethod]) =>
  Object.entries(byMethod).map(([method, operation]) => ({ path, method, ...operation })),
);

test("every operation of the document has a method, and every method an operation", () => {
  expect(operations.map((o) => o.operationId).sort()).toEqual(Object.keys(methods).sort());
});

test("each method sends its operation", async () => {
  const sent: { method: string; path: string; query: string | null; body: unknown }[] = [];
  const client = new Galley("http://galley.test", {
    fetch: async (url, init) => {
      const { pathname, searchParams } = new URL(String(url));
      sent.push({ method: init!.method!.toLowerCase(), path: pathname, query: searchParams.get("sent"), body: init!.body });
      return new Response(pathname.endsWith("/stream") ? "data: {}\n\n" : "{}", { headers: { "content-type": "application/json" } });
    },
  });
  for (const o of operations) {
    const name = methods[o.operationId]!;
    const f = name.split(".").reduce((x, part) => (x as Record<string, unknown>)[part], client as unknown) as (...args: unknown[]) => any;
    expect(f, name).toBeTypeOf("function");
    const parameters = o.path.match(/{\w+}/g) ?? [];
    const body = o.requestBody ? [{ sent: "body" }] : [];
    const returned = f(...parameters, ...body, { sent: "query" });
    if (o.operationId === "streamEvents") {
      await returned.next();
      await returned.return();
    } else {
      await returned;
    }
    const path = o.path.replace(/[{}]/g, (c) => encodeURIComponent(c));
    expect(sent.pop(), name).toEqual({ method: o.method, path, query: "query", body: body[0] && JSON.stringify(body[0]) });
    expect(sent).toEqual([]);

    const schema = o.responses["200"]?.content?.["application/json"]?.schema.$ref?.split("/").pop();
    const isList = "hasMore" in (document.components.schemas[schema ?? ""]?.properties ?? {});
    expect(Symbol.asyncIterator in returned, `${name} is a list`).toBe(isList || o.operationId === "streamEvents");
  }
});
