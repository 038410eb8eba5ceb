/**
 * The operations of the interface document, by service and method: a verb and a path.
 * Methods and their types are made from it. The verbs that are not methods of HTTP are
 * `list`, a GET of a list; `blob`, a GET of binary data; and `act`, a POST without a body.
 */
export const operations = {
  /** Returns the credential of the client. */
  me: "get /v2/me",
  /** Returns the workspace of the client. */
  workspace: "get /v2/workspace",
  /** Returns what a visitor of a URL gets. */
  resolve: "get /v2/resolve",

  /** Keys for programs. */
  apps: {
    /** Lists apps. */
    list: "list /v2/apps",
    /** Creates an app. The key is shown only once. */
    create: "post /v2/apps",
    /** Returns an app. */
    get: "get /v2/apps/{appId}",
    /** Changes an app. */
    update: "patch /v2/apps/{appId}",
    /** Deletes an app. Its keys stop working. */
    delete: "delete /v2/apps/{appId}",
    /** Replaces the key of an app. */
    rotate: "post /v2/apps/{appId}/rotate",
  },
  /** The audit trail. */
  audit: {
    /** Lists entries, newest first. */
    list: "list /v2/audit",
  },
  /** The content of pages. */
  content: {
    /** Returns the content of a page. */
    get: "get /v6/pages/{pageId}/content",
    /** Replaces the content of a page by an object or an array. */
    put: "put /v6/pages/{pageId}/content",
    /** Clears the content of a page or, in a locale, returns it to inheritance. */
    delete: "delete /v6/pages/{pageId}/content",
    /** Compares the content of two versions. */
    diff: "get /v6/pages/{pageId}/content/diff",
  },
  /** The events of the workspace. */
  events: {
    /** Lists events, oldest first. */
    list: "list /v2/events",
  },
  /** The locales of sites. */
  locales: {
    /** Lists the locales of a site. */
    list: "list /v2/locales",
    /** Creates a locale. */
    create: "post /v2/locales",
    /** Returns a locale by its id, or by its code and `siteId`. */
    get: "get /v2/locales/{localeIdOrCode}",
    /** Changes a locale. */
    update: "patch /v2/locales/{localeIdOrCode}",
    /** Deletes a locale. */
    delete: "delete /v2/locales/{localeIdOrCode}",
    /** Brings a deleted locale back. */
    restore: "act /v2/locales/{localeIdOrCode}/restore",
  },
  /** For those who run a server. */
  operations: {
    /** Checks that the server runs. */
    health: "get /healthz",
    /** Checks that the server can take requests. */
    ready: "get /readyz",
    /** Returns the interface document, OpenAPI 3.1. */
    document: "get /openapi.json",
    /** Returns the page that shows the document. */
    reference: "get /docs",
    /** Returns metrics for Prometheus. */
    metrics: "get /metrics",
    /** Returns a profile of the server, such as heap, for go tool pprof. */
    profile: "blob /debug/pprof/{profile}",
  },
  /** The pages of sites. */
  pages: {
    /** Lists the pages of a site. */
    list: "list /v6/pages",
    /** Creates a page in the draft. */
    create: "post /v6/pages",
    /** Returns a page by its id, or by its pathname and `siteId`. */
    get: "get /v6/pages/{pageIdOrPathname}",
    /** Changes a page in the draft, in the given locale or the default one. */
    update: "patch /v6/pages/{pageIdOrPathname}",
    /** Deletes a page from the draft. */
    delete: "delete /v6/pages/{pageIdOrPathname}",
    /** Brings a deleted page back. */
    restore: "act /v6/pages/{pageId}/restore",
    /** Drops what a locale overrides of a page. */
    delocalize: "delete /v6/pages/{pageId}/localizations/{localeIdOrCode}",
    /** Does up to 1,000 operations, all or none of them. */
    batch: "post /v6/pages/batch",
    /** Lists the next segments below a pathname. */
    tree: "list /v6/pages/tree",
    /** Publishes one page. */
    publish: "act /v6/pages/{pageId}/publish",
    /** Returns the draft of a page to what is live. One that was never live is deleted, and the result is undefined. */
    discard: "act /v6/pages/{pageId}/discard",
    /** Lists the publishes that changed a page, newest first. */
    publishes: "list /v6/pages/{pageId}/publishes",
  },
  /** Links that show a draft. */
  previews: {
    /** Lists the previews of a site. */
    list: "list /v2/previews",
    /** Creates a preview. The token is shown only once. */
    create: "post /v2/previews",
    /** Returns a preview. */
    get: "get /v2/previews/{previewId}",
    /** Ends a preview. */
    delete: "delete /v2/previews/{previewId}",
  },
  /** What was published, and what is scheduled. */
  publishes: {
    /** Lists the scheduled publishes of all sites. */
    scheduled: "list /v2/publishes?status=scheduled",
    /** Returns a publish. */
    get: "get /v2/publishes/{publishId}",
    /** Cancels a scheduled publish. */
    cancel: "delete /v2/publishes/{publishId}",
    /** Lists what a publish changed. */
    changes: "list /v2/publishes/{publishId}/changes",
    /** Lists the URLs at which a publish changed what visitors get. */
    urls: "list /v2/publishes/{publishId}/urls",
    /** Publishes what was live after a publish. */
    restore: "act /v2/publishes/{publishId}/restore",
  },
  /** The redirects of sites. */
  redirects: {
    /** Lists the redirects of a site. */
    list: "list /v2/redirects",
    /** Creates a redirect in the draft. */
    create: "post /v2/redirects",
    /** Returns a redirect. */
    get: "get /v2/redirects/{redirectId}",
    /** Changes a redirect in the draft. */
    update: "patch /v2/redirects/{redirectId}",
    /** Deletes a redirect from the draft. */
    delete: "delete /v2/redirects/{redirectId}",
    /** Brings a deleted redirect back. */
    restore: "act /v2/redirects/{redirectId}/restore",
    /** Returns the draft of a redirect to what is live. One that was never live is deleted, and the result is undefined. */
    discard: "act /v2/redirects/{redirectId}/discard",
    /** Does up to 1,000 operations, all or none of them. */
    batch: "post /v2/redirects/batch",
  },
  /** The routes of sites: pathnames that a program serves. */
  routes: {
    /** Lists the routes of a site. */
    list: "list /v2/routes",
    /** Creates a route. */
    create: "post /v2/routes",
    /** Returns a route by its id, or by its pathname and `siteId`. */
    get: "get /v2/routes/{routeIdOrPathname}",
    /** Changes a route. */
    update: "patch /v2/routes/{routeIdOrPathname}",
    /** Deletes a route. */
    delete: "delete /v2/routes/{routeIdOrPathname}",
  },
  /** Live pages as front ends read them, with a Site key. */
  runtime: {
    /** Lists the live pages. */
    list: "list /v5/pages",
    /** Returns a live page by its pathname. */
    get: "get /v3/pages/{pathname}",
  },
  /** The sites of the workspace. */
  sites: {
    /** Lists sites. */
    list: "list /v2/sites",
    /** Creates a site. */
    create: "post /v2/sites",
    /** Returns a site. */
    get: "get /v2/sites/{siteId}",
    /** Changes a site. */
    update: "patch /v2/sites/{siteId}",
    /** Deletes a site, with everything in it. */
    delete: "delete /v2/sites/{siteId}",
    /** Brings a deleted site back. */
    restore: "act /v2/sites/{siteId}/restore",
    /** Copies a site. */
    duplicate: "post /v2/sites/{siteId}/duplicate",
    /** Replaces the Site key. */
    rotateKey: "post /v2/sites/{siteId}/rotate-key",
    /** Lists the pages of a site. */
    pages: "list /v2/sites/{siteId}/pages",
    /** Counts what the draft of a site has. */
    summary: "get /v2/sites/{siteId}/summary",
    /** Lists what a publish would change. */
    changes: "list /v2/sites/{siteId}/changes",
    /** Returns the draft of a site, or a selection of it, to what is live. */
    discard: "post /v2/sites/{siteId}/discard",
    /** Lists the publishes of a site, newest first. */
    publishes: "list /v2/sites/{siteId}/publishes",
    /** Returns the sitemap of an origin, or one of its parts, as XML. */
    sitemap: "get /v2/sites/{siteId}/sitemap.xml",
    /** Returns the robots.txt of an origin. */
    robots: "get /v2/sites/{siteId}/robots.txt",
    /** Publishes the draft of a site, or a selection of it. */
    publish: "post /v2/sites/{siteId}/publish",
  },
  /** Deliveries of events to URLs. */
  webhooks: {
    /** Lists webhooks. */
    list: "list /v2/webhooks",
    /** Creates a webhook. The secret is shown only once. */
    create: "post /v2/webhooks",
    /** Returns a webhook. */
    get: "get /v2/webhooks/{webhookId}",
    /** Changes a webhook. */
    update: "patch /v2/webhooks/{webhookId}",
    /** Deletes a webhook. */
    delete: "delete /v2/webhooks/{webhookId}",
    /** Replaces the secret of a webhook. */
    rotateSecret: "post /v2/webhooks/{webhookId}/rotate-secret",
    /** Sends a test event. */
    test: "act /v2/webhooks/{webhookId}/test",
    /** Sends the events of a time and later again. */
    replay: "post /v2/webhooks/{webhookId}/replay",
    /** Lists the deliveries of a webhook, newest first. */
    deliveries: "list /v2/webhooks/{webhookId}/deliveries",
    /** Returns a delivery. */
    delivery: "get /v2/deliveries/{deliveryId}",
    /** Makes one more attempt of a delivery. */
    redeliver: "act /v2/deliveries/{deliveryId}/redeliver",
  },
} as const;
