package httpapi

import "galley/internal/cms"

// The texts of the OpenAPI document.

const documentText = `Galley manages websites: sites, locales, pages with a draft and a live version, and external routes.

Authenticate with a key in the ` + "`x-api-key`" + ` header, or as a bearer token. Responses are JSON and have an ` + "`X-Request-Id`" + ` header.
Lists are paginated: to get the next page, set ` + "`startingAfter`" + ` to the id of the last item, until ` + "`hasMore`" + ` is false.`

var documentTags = []schema{
	{"name": "Sites", "description": "Websites, each with its own locales, pages, routes and Site key."},
	{"name": "Locales", "description": "The languages of a site."},
	{"name": "Pages", "description": "Pages with a draft and a live version. Each locale can override their values."},
	{"name": "Runtime", "description": "The live pages of a site, as the npm package @makeswift/runtime reads them with a Site key."},
	{"name": "Publishing", "description": "Review changes, publish them atomically, and go back to an earlier publish."},
	{"name": "Rendering", "description": "From a URL to what a visitor gets, and back."},
	{"name": "Previews", "description": "Tokens that read one version of a site for some time."},
	{"name": "Routes", "description": "Pathnames of a site that another system serves."},
	{"name": "Redirects", "description": "From a pathname, or from everything below one, to another address. They are versioned with pages."},
	{"name": "Webhooks", "description": "URLs that events are sent to, signed by the Standard Webhooks specification."},
	{"name": "Events", "description": "What was written, in the order of the commits."},
	{"name": "Apps", "description": "Clients of this API, each with its own key."},
	{"name": "Operations", "description": "Health checks, metrics and profiles for operators of the service."},
}

var headerSchemas = schema{
	"X-Request-Id": schema{"description": "Id of this request in the server's log.", "schema": idSchema},
	"ETag":         schema{"description": "Entity tag of the resource, for If-None-Match and If-Match.", "schema": schema{"type": "string"}},
	"Location":     schema{"description": "URL of the created resource.", "schema": schema{"type": "string"}},
	"Retry-After":  schema{"description": "Seconds to wait before the next try.", "schema": schema{"type": "integer"}},

	"RateLimit":             schema{"description": "Requests that remain (r), and seconds until the limit is fully restored (t). Absent if the key has no rate limit.", "schema": schema{"type": "string"}},
	"RateLimit-Policy":      schema{"description": "Requests allowed (q) in a window of seconds (w).", "schema": schema{"type": "string"}},
	"X-RateLimit-Limit":     schema{"description": "Requests allowed in the window.", "schema": schema{"type": "integer"}},
	"X-RateLimit-Remaining": schema{"description": "Requests that remain.", "schema": schema{"type": "integer"}},
	"X-RateLimit-Reset":     schema{"description": "Seconds until the limit is fully restored.", "schema": schema{"type": "integer"}},
}

// headerParams are the optional request headers of each method.
var headerParams = map[string][]param{
	"GET": {{name: "If-None-Match", schema: schema{"type": "string"}, doc: "Returns 304 if the resource still has this entity tag."}},
	"POST": {{name: idempotencyHeader, schema: schema{"type": "string", "minLength": 1, "maxLength": cms.MaxIdempotencyKey},
		doc: "1 to 255 printable ASCII characters. If the same request is sent again with this key within 24 hours of a success, the first response is repeated. Returns 409 while the first request is in progress, and 400 if the key was used for a different request."}},
	"PATCH":  {paramIfMatch},
	"DELETE": {paramIfMatch},
	"PUT": {
		{name: "If-Match", schema: schema{"type": "string"}, doc: "Returns 412 if the content of the locale itself no longer has this entity tag. Inherited content does not count."},
		{name: "If-None-Match", schema: schema{"type": "string"}, doc: "With `*`, returns 412 if the locale itself has content."},
	},
}

var paramIfMatch = param{
	name: "If-Match", schema: schema{"type": "string"},
	doc: "Returns 412 if the resource no longer has this entity tag. A page has a separate tag for each locale: read it with the same `locale`.",
}

// bodyExamples are small request bodies, by the name of the endpoint.
var bodyExamples = map[string]schema{
	"createApp":           {"name": "Importer", "scopes": []string{"read"}},
	"updateApp":           {"description": "Nightly import"},
	"rotateAppKey":        {"graceSeconds": 3600},
	"createSite":          {"name": "Shop"},
	"updateSite":          {"name": "Shop"},
	"duplicateSite":       {"name": "Shop (copy)"},
	"rotateSiteKey":       {"graceSeconds": 3600},
	"publishSite":         {"name": "Spring campaign"},
	"discardSite":         {"locales": []string{"pt-BR"}},
	"createPreview":       {"siteId": idSchema["example"], "pathPrefix": "/blog", "expiresInSeconds": 86400},
	"createWebhook":       {"url": "https://www.example.com/hooks/galley", "types": []string{"publish.published"}},
	"updateWebhook":       {"isEnabled": true},
	"rotateWebhookSecret": {"graceSeconds": 3600},
	"replayWebhook":       {"since": "2030-01-31T12:00:00.000Z"},
	"createLocale":        {"siteId": idSchema["example"], "locale": "pt-BR"},
	"updateLocale":        {"pathPrefix": "br"},
	"createRoute":         {"siteId": idSchema["example"], "pathname": "/checkout"},
	"updateRoute":         {"pathname": "/checkout"},
	"createPage":          {"siteId": idSchema["example"], "pathname": "/about", "title": "About us"},
	"updatePage":          {"title": "About us"},
	"putContent":          {"blocks": []schema{{"type": "heading", "text": "About us"}}},
	"createRedirect":      {"siteId": idSchema["example"], "source": "/old/*", "target": "/new/*"},
	"updateRedirect":      {"target": "/new/*"},
	"batchRedirects":      {"siteId": idSchema["example"], "operations": []schema{{"op": "create", "source": "/old", "target": "/new"}}},
	"batchPages":          {"siteId": idSchema["example"], "operations": []schema{{"op": "create", "pathname": "/about", "title": "About us"}}},
}

var pathParams = map[string]param{
	"profile":           {doc: "Name of the profile.", schema: schema{"type": "string", "example": "heap"}},
	"siteId":            {doc: "Site id.", schema: idSchema},
	"appId":             {doc: "App id.", schema: idSchema},
	"previewId":         {doc: "Preview id.", schema: idSchema},
	"webhookId":         {doc: "Webhook id.", schema: idSchema},
	"deliveryId":        {doc: "Delivery id.", schema: idSchema},
	"publishId":         {doc: "Publish id.", schema: idSchema},
	"pageId":            {doc: "Page id.", schema: idSchema},
	"redirectId":        {doc: "Redirect id.", schema: idSchema},
	"localeIdOrCode":    {doc: "Locale id or locale code.", schema: schema{"type": "string", "example": "fr"}},
	"pageIdOrPathname":  {doc: "Page id, or page pathname percent-encoded as one segment.", schema: schema{"type": "string", "example": "/about"}},
	"pathname":          {doc: "Page pathname percent-encoded as one segment.", schema: schema{"type": "string", "example": "/about"}},
	"routeIdOrPathname": {doc: "Route id, or route pathname percent-encoded as one segment.", schema: schema{"type": "string", "example": "/checkout"}},
}

type endpointText struct{ tag, summary, detail string }

var endpointTexts = map[string]endpointText{
	"getCredential": {"Apps", "Get the credential", "Returns what the key is and what it may do."},

	"getWorkspace": {"Apps", "Get the workspace", "Returns the workspace of the key."},

	"listApps":     {"Apps", "List apps", "Returns the oldest first."},
	"createApp":    {"Apps", "Create an app", "The response has the key, which is not shown again. An app can only grant the scopes and sites that it has; omitted, it grants all of them."},
	"getApp":       {"Apps", "Get an app", ""},
	"updateApp":    {"Apps", "Update an app", "Omitted fields stay unchanged."},
	"deleteApp":    {"Apps", "Delete an app", "Its keys stop working."},
	"rotateAppKey": {"Apps", "Rotate an app's key", "The response has the new key, which is not shown again. The old key works until the grace period ends."},

	"listWebhooks":        {"Webhooks", "List webhooks", "Returns the oldest first. An app restricted to sites sees the webhooks within them."},
	"createWebhook":       {"Webhooks", "Create a webhook", "The response has the secret, which is not shown again. The webhook gets what is committed from then on. Returns 409 if the workspace has 100 webhooks."},
	"getWebhook":          {"Webhooks", "Get a webhook", ""},
	"updateWebhook":       {"Webhooks", "Update a webhook", "Omitted fields stay unchanged. Disabling it or changing its URL fails what is pending."},
	"deleteWebhook":       {"Webhooks", "Delete a webhook", "What is pending fails."},
	"rotateWebhookSecret": {"Webhooks", "Rotate a webhook's secret", "The response has the new secret, which is not shown again. Until the grace period ends, the old one signs, too."},
	"testWebhook":         {"Webhooks", "Test a webhook", "Sends an event of the type webhook.test, once, also while the webhook is disabled. Get the delivery to see what the receiver answered."},
	"replayWebhook":       {"Webhooks", "Send past events again", "Sends the events since a time that the webhook asks for, as new deliveries, those from before the webhook included. Returns 409 if the webhook is disabled."},
	"listDeliveries":      {"Webhooks", "List the deliveries of a webhook", "Returns the newest first. Deliveries are kept as long as events."},
	"getDelivery":         {"Webhooks", "Get a delivery", ""},
	"redeliver":           {"Webhooks", "Send an event again", "Makes one more attempt of the same delivery, whatever its status. Returns 409 if the webhook is disabled or the event is no longer kept."},

	"listAudit": {"Apps", "List the audit log", "Every write, newest first: who made it and when, and the resource before and after it. Side effects of a write, such as the default locale of a new site, are part of its entry. An app restricted to sites sees the entries of those sites."},

	"listEvents": {"Events", "List events", "Returns what was written, the oldest first. Go on from the last event that you have with `startingAfter`: any event of the workspace is a cursor, whatever the filter, and no event that is committed late is skipped. An app restricted to sites sees the events of those sites; `app.*` and `webhook.*` also need the scope `admin`. Returns 410 if the cursor is older than the events that are kept."},

	"streamEvents": {"Events", "Follow events", "Sends events as they are committed on any node, as server-sent events: `id` is the event's id, `event` its type, and `data` the event in one line. Begins after `startingAfter` or the header `Last-Event-ID`, which wins, or at `since`, or else with the next event. A comment is sent every 15 seconds. A client that reads too slowly is disconnected: connect again with the last id. Returns 429 for more than 10 streams of a key, and 410 if the cursor is older than the events that are kept."},

	"listSites":      {"Sites", "List sites", "Returns the oldest first. An app restricted to sites sees only those."},
	"createSite":     {"Sites", "Create a site", "Also creates its default locale. Not allowed for an app restricted to sites."},
	"getSite":        {"Sites", "Get a site", ""},
	"updateSite":     {"Sites", "Update a site", "Omitted fields stay unchanged. A new default locale does not change the values of pages in any locale."},
	"deleteSite":     {"Sites", "Delete a site", "The site and everything in it can be restored until it is purged."},
	"restoreSite":    {"Sites", "Restore a deleted site", "Restores the site and everything in it. Returns 409 if it is not deleted."},
	"duplicateSite":  {"Sites", "Duplicate a site", "Copies settings, locales, routes, and pages with their localizations atomically. The copies have new ids, and the site a new Site key. Not allowed for an app restricted to sites."},
	"rotateSiteKey":  {"Sites", "Rotate a site's key", "The old Site key works until the grace period ends."},
	"getSiteSummary": {"Sites", "Get the summary of a site", "Returns how many pages, redirects and routes the draft has, and what is published and scheduled. The cost does not grow with the site."},
	"listSitePages":  {"Pages", "List the pages of a site", "The same as `GET /v6/pages?siteId=`."},

	"listChanges":            {"Publishing", "List changes", "Lists what a publish would change, by page and locale: of the whole site, of selected pages, or of selected locales. Also returns a `summary`, and the `plan`, a hash of all changes: pass it to publish to make live exactly what was reviewed."},
	"publishSite":            {"Publishing", "Publish", "Makes the draft live atomically: all of it, selected pages, or the values of selected locales. With `publishAt`, schedules it. Returns 200 with a null id if there is nothing to publish."},
	"discardSite":            {"Publishing", "Discard the draft", "Reverts the draft to the live version atomically: all of it, selected pages and redirects, or the values of selected locales. Deletes pages and redirects that were never live. Returns 409 if a pathname is no longer free, or if it would delete most pages of the draft without confirm."},
	"listPublishes":          {"Publishing", "List publishes", "Returns the newest first."},
	"listScheduledPublishes": {"Publishing", "List scheduled publishes", "Returns those of all sites within reach, the oldest first."},
	"getPublish":             {"Publishing", "Get a publish", ""},
	"cancelPublish":          {"Publishing", "Cancel a scheduled publish", "Returns 409 if it is not scheduled."},
	"listPublishChanges":     {"Publishing", "List the changes of a publish", ""},
	"listPublishUrls":        {"Publishing", "List the URLs that a publish changed", "Returns every URL at which visitors get something else since the publish, by URL: what a CDN has to purge. A URL that ends in `/*` is the source of a redirect and stands for everything below it."},
	"restorePublish":         {"Publishing", "Go back to a publish", "Reverts the live version to its state after that publish, as a new publish. The draft does not change. Returns 200 with a null id if the live version is already in that state."},

	"resolveUrl": {"Rendering", "Resolve a URL", "Returns what a visitor of the URL gets, and why: a page, a redirect, a route or nothing. Reads the live version by default. Returns 404 if no site within reach has the origin, and 409 if several have it."},
	"getSitemap": {"Rendering", "Get the sitemap", "Returns the pages that are online and not excluded from search engines in the locales of an origin, in the format of sitemaps.org, with alternates. Above 50,000 URLs or 50 MB it is an index of parts: sitemap.xml?part=1 and so on."},
	"getRobots":  {"Rendering", "Get robots.txt", "Allows everything, and names the sitemap of the origin."},

	"listPreviews":  {"Previews", "List previews", "Returns the oldest first. A preview that has ended is listed for 30 days."},
	"createPreview": {"Previews", "Create a preview", "The response has the token, which is not shown again. It is sent as a key is, and reads the version of the site at and below the prefix, and nothing else: pages, locales, routes, what URLs resolve to, the sitemap and the site. Also needs the scope `read`. A preview does not outlast the app that creates it: returns 403 if it would."},
	"getPreview":    {"Previews", "Get a preview", ""},
	"deletePreview": {"Previews", "Delete a preview", "The token stops working at once."},

	"listLocales":   {"Locales", "List locales", "Returns the oldest first."},
	"createLocale":  {"Locales", "Create a locale", "Code, domain and effective path prefix are unique in a site."},
	"getLocale":     {"Locales", "Get a locale", ""},
	"updateLocale":  {"Locales", "Update a locale", "Omitted fields stay unchanged."},
	"deleteLocale":  {"Locales", "Delete a locale", "Hides the locale and its overrides. The default locale can't be deleted."},
	"restoreLocale": {"Locales", "Restore a deleted locale", "Restores the locale and its overrides. Returns 409 if it is not deleted, or if its code, domain, prefix or a pathname is no longer free."},

	"listRoutes":  {"Routes", "List routes", "Returns the oldest first."},
	"createRoute": {"Routes", "Create a route", "The pathname must be free in the draft and in the live version."},
	"getRoute":    {"Routes", "Get a route", ""},
	"updateRoute": {"Routes", "Update a route", ""},
	"deleteRoute": {"Routes", "Delete a route", ""},

	"listRuntimePages": {"Runtime", "List live pages", "The pages of the key's site in the live version, in the order asked for. Pass the id of the last item as `after` until `hasMore` is false."},
	"getRuntimePage":   {"Runtime", "Get a live page by pathname", "The pathname is looked up in `locale`, or in the default locale. 404 for a page that is offline there."},

	"listRedirects":   {"Redirects", "List redirects", "Ordered by source, ties by id. With `locale`, returns the redirects of that locale and those of every locale."},
	"createRedirect":  {"Redirects", "Create a redirect", "Creates it in the draft. Returns 409 if a page, a route or another redirect of that locale has the source, or if following redirects would come round again."},
	"batchRedirects":  {"Redirects", "Change many redirects", "1 to 1,000 operations in one transaction, in a body of at most 8 MiB. Results are in the order of the operations. `create` requires a `source` and a `target`. `update` and `delete` identify their redirect by `redirectId`, or by `source` with `locale`: those before the batch. An `update` by `redirectId` takes `source` and `locale` as new values; one by `source` can't change them. `delete` takes no values. Sources and circles are checked after all operations. On any error nothing changes, and the details list every problem of every operation. Returns 400 if anything is malformed, otherwise 404 if a redirect or locale does not exist, otherwise 409."},
	"getRedirect":     {"Redirects", "Get a redirect", ""},
	"updateRedirect":  {"Redirects", "Update a redirect", "Updates the draft. Omitted fields stay unchanged. An automatic redirect that is changed becomes an ordinary one."},
	"deleteRedirect":  {"Redirects", "Delete a redirect", "Deletes it from the draft. It can be restored. Returns 409 if another redirect, which then acts in its place, would lead round again."},
	"restoreRedirect": {"Redirects", "Restore a deleted redirect", "Returns 409 if it is not deleted, or if its source is no longer free."},
	"discardRedirect": {"Publishing", "Discard a redirect's draft", "Reverts the draft, deleted or not, to the live version. A redirect that was never live is deleted, and the response is 204."},

	"listPages":         {"Pages", "List pages", "Text is sorted by Unicode code point. Nulls come last in ascending order. Ties are sorted by id."},
	"createPage":        {"Pages", "Create a page", "Creates it in the draft; the live version does not change."},
	"batchPages":        {"Pages", "Change many pages", "Runs 1 to 1,000 operations atomically, in a body of at most 8 MiB. Results are in the order of the operations. `create` needs a `pathname` and can have `localizations`. `update` and `delete` identify their page by `pageId` or by `pathname`: the pathname before the batch, in `locale` if that is given. An `update` by `pageId` takes `pathname` as the new value; one by `pathname` can't change it. `delete` takes no values. Pathnames are checked after all operations, so pages can swap them. On any error nothing changes, and the details list every problem of every operation. Returns 400 if anything is malformed, otherwise 404 if a page or locale does not exist, otherwise 409."},
	"getTree":           {"Pages", "List the tree of pathnames", "Returns the next segments below a pathname, in the order of their pathnames, with the page or route there and how many are below. A page at `/tree` is read as `/v6/pages/%2Ftree`."},
	"getPage":           {"Pages", "Get a page", "By id, or by pathname with `siteId`. With `locale`, returns the values in that locale."},
	"updatePage":        {"Pages", "Update a page", "Updates the draft. Omitted fields stay unchanged. With `locale`, sets overrides; null removes an override, so that the value is inherited again."},
	"deletePage":        {"Pages", "Delete a page", "Deletes it from the draft in every locale. It can be restored. With `locale`, a pathname is looked up in that locale."},
	"restorePage":       {"Pages", "Restore a deleted page", "Returns 409 if it is not deleted, or if its pathname is no longer free."},
	"publishPage":       {"Publishing", "Publish one page", "Returns 200 with a null id if there is nothing to publish."},
	"discardPage":       {"Publishing", "Discard a page's draft", "Reverts the draft, deleted or not, to the live version. A page that was never live is deleted, and the response is 204."},
	"listPagePublishes": {"Publishing", "List the publishes of a page", "Returns those that changed the page, newest first."},
	"getContent":        {"Pages", "Get the content of a page", "In a locale without content of its own, returns that of the default locale. The entity tag depends on the digest alone. Returns 404 if there is no content."},
	"putContent":        {"Pages", "Set the content of a page", "Sets it in the draft. The body is the value: a JSON object or array of at most 1 MiB (unless the server is configured differently), nested at most 100 levels deep. It is stored as sent, without insignificant white space. With `locale`, sets the content of that locale."},
	"deleteContent":     {"Pages", "Delete the content of a page", "Deletes it from the draft. With `locale`, deletes the content of that locale, so that it is inherited again. Returns 404 if there is no content."},
	"diffContent":       {"Pages", "Compare the content of two versions", "Returns a JSON Patch (RFC 6902) from one version to the other. A version without the page, or without content, counts as null. If the patch could become much larger than the content, it replaces the whole content."},
	"delocalizePage":    {"Pages", "Delete a page's localization", "Removes all overrides of the locale, so that their values are inherited again."},
}
