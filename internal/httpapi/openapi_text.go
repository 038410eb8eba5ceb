package httpapi

// The texts of the OpenAPI document.

const documentText = `Galley manages websites: sites, locales, pages with a draft and a live version, and external routes.

Every request carries a key in the header ` + "`x-api-key`" + ` (or as a bearer token). Every answer is JSON and carries
` + "`X-Request-Id`" + `. Lists are walked by setting ` + "`startingAfter`" + ` to the id of the last item until ` + "`hasMore`" + ` is false.`

var documentTags = []schema{
	{"name": "Sites", "description": "Websites, each with its own locales, pages, routes and Site key."},
	{"name": "Locales", "description": "The languages that a site speaks."},
	{"name": "Pages", "description": "Pages in a draft and a live version, localized by overrides."},
	{"name": "Publishing", "description": "From draft to live: reviewed before, in one step, undone after."},
	{"name": "Routes", "description": "Pathnames of a site that another system serves."},
	{"name": "Redirects", "description": "From a pathname, or from everything below one, to another address; versioned with pages."},
	{"name": "Apps", "description": "Programs that use this interface, each with its own key."},
	{"name": "Operations", "description": "For those who run the service."},
}

var headerSchemas = schema{
	"X-Request-Id": schema{"description": "Names this request in the server's log.", "schema": idSchema},
	"ETag":         schema{"description": "The resource's entity tag, for If-None-Match and If-Match.", "schema": schema{"type": "string"}},
	"Location":     schema{"description": "The address of what was created.", "schema": schema{"type": "string"}},
	"Retry-After":  schema{"description": "Seconds to wait before trying again.", "schema": schema{"type": "integer"}},

	"RateLimit":             schema{"description": "How many requests the key has left (r), and after how many seconds all of them (t), unless its rate is off.", "schema": schema{"type": "string"}},
	"RateLimit-Policy":      schema{"description": "How many requests the key has (q) in how many seconds (w).", "schema": schema{"type": "string"}},
	"X-RateLimit-Limit":     schema{"description": "How many requests the key has.", "schema": schema{"type": "integer"}},
	"X-RateLimit-Remaining": schema{"description": "How many of them are left.", "schema": schema{"type": "integer"}},
	"X-RateLimit-Reset":     schema{"description": "After how many seconds all of them are there again.", "schema": schema{"type": "integer"}},
}

// bodyExamples are bodies to begin with, by the endpoint's name.
var bodyExamples = map[string]schema{
	"createApp":      {"name": "Importer", "scopes": []string{"read"}},
	"updateApp":      {"description": "Nightly import"},
	"rotateAppKey":   {"graceSeconds": 3600},
	"createSite":     {"name": "Shop"},
	"updateSite":     {"name": "Shop"},
	"duplicateSite":  {"name": "Shop (copy)"},
	"rotateSiteKey":  {"graceSeconds": 3600},
	"publishSite":    {"name": "Spring campaign"},
	"discardSite":    {"locales": []string{"pt-BR"}},
	"createLocale":   {"siteId": idSchema["example"], "locale": "pt-BR"},
	"updateLocale":   {"pathPrefix": "br"},
	"createRoute":    {"siteId": idSchema["example"], "pathname": "/checkout"},
	"updateRoute":    {"pathname": "/checkout"},
	"createPage":     {"siteId": idSchema["example"], "pathname": "/about", "title": "About us"},
	"updatePage":     {"title": "About us"},
	"createRedirect": {"siteId": idSchema["example"], "source": "/old/*", "target": "/new/*"},
	"updateRedirect": {"target": "/new/*"},
	"batchRedirects": {"siteId": idSchema["example"], "operations": []schema{{"op": "create", "source": "/old", "target": "/new"}}},
	"batchPages":     {"siteId": idSchema["example"], "operations": []schema{{"op": "create", "pathname": "/about", "title": "About us"}}},
}

type pathParam struct {
	doc    string
	schema schema
}

var pathParams = map[string]pathParam{
	"siteId":            {"Site id.", idSchema},
	"appId":             {"App id.", idSchema},
	"publishId":         {"Publish id.", idSchema},
	"pageId":            {"Page id.", idSchema},
	"redirectId":        {"Redirect id.", idSchema},
	"localeIdOrCode":    {"Locale id or locale code.", schema{"type": "string", "example": "fr"}},
	"pageIdOrPathname":  {"Page id, or page pathname percent-encoded as one segment.", schema{"type": "string", "example": "/about"}},
	"routeIdOrPathname": {"Route id, or route pathname percent-encoded as one segment.", schema{"type": "string", "example": "/checkout"}},
}

type endpointText struct{ tag, summary, detail string }

var endpointTexts = map[string]endpointText{
	"getWorkspace": {"Apps", "Get the workspace", "The workspace that the key belongs to."},

	"listApps":     {"Apps", "List apps", "Oldest first."},
	"createApp":    {"Apps", "Create an app", "Answers the key, this once. An app can only grant scopes and sites that it has itself, and grants all of them unless told."},
	"getApp":       {"Apps", "Get an app", ""},
	"updateApp":    {"Apps", "Update an app", "Fields left out stay as they are."},
	"deleteApp":    {"Apps", "Delete an app", "Its keys stop working."},
	"rotateAppKey": {"Apps", "Replace an app's key", "Answers the new key, this once. The old one works until the grace ends."},

	"listAudit": {"Apps", "List the audit trail", "Every write, newest first: who, when, what, and the resource that it was about before and after it. What a write brings along, such as the default locale of a new site, is a part of its entry. An app restricted to sites sees what happened in those."},

	"listSites":     {"Sites", "List sites", "Oldest first. An app restricted to sites sees those."},
	"createSite":    {"Sites", "Create a site", "Makes the default locale too. Not for an app restricted to sites."},
	"getSite":       {"Sites", "Get a site", ""},
	"updateSite":    {"Sites", "Update a site", "Fields left out stay as they are. Changing the default locale changes nothing that any reader sees in any locale."},
	"deleteSite":    {"Sites", "Delete a site", "The site and everything in it can be restored until it is purged."},
	"restoreSite":   {"Sites", "Restore a deleted site", "It comes back whole. 409 if it is not deleted."},
	"duplicateSite": {"Sites", "Duplicate a site", "Copies locales, routes, redirects, pages with their localizations, and settings, in one step, under new ids and a new Site key. Not for an app restricted to sites."},
	"rotateSiteKey": {"Sites", "Replace a site's key", "The old Site key works until the grace ends."},
	"listSitePages": {"Pages", "List the pages of a site", "The same list as `GET /v6/pages?siteId=`."},

	"listChanges":        {"Publishing", "List changes", "What a publish of everything, of chosen pages and redirects or of chosen locales' values would do, by page and locale and then by redirect, with a `summary` and the `plan`, a hash of the whole list: publish with it to put live exactly what was reviewed."},
	"publishSite":        {"Publishing", "Publish", "Puts the draft live in one step, or chosen pages and redirects, or chosen locales' values; with `publishAt`, later. Answers 200 with a null id when there is nothing to publish."},
	"discardSite":        {"Publishing", "Discard the draft", "Takes the draft, or chosen pages and redirects, or chosen locales' values, back to what is live in one step. What was never live is deleted. 409 when a pathname has been taken meanwhile."},
	"listPublishes":      {"Publishing", "List publishes", "Newest first."},
	"getPublish":         {"Publishing", "Get a publish", ""},
	"cancelPublish":      {"Publishing", "Cancel a scheduled publish", "409 for any other."},
	"listPublishChanges": {"Publishing", "List what a publish changed", ""},
	"restorePublish":     {"Publishing", "Go back to a publish", "The live version becomes what it was after that publish, as a new publish; the draft is untouched. Answers 200 with a null id when it is so already."},

	"listLocales":   {"Locales", "List locales", "Oldest first."},
	"createLocale":  {"Locales", "Create a locale", "Code, domain and effective path prefix are unique in a site."},
	"getLocale":     {"Locales", "Get a locale", ""},
	"updateLocale":  {"Locales", "Update a locale", "Fields left out stay as they are."},
	"deleteLocale":  {"Locales", "Delete a locale", "Hides the locale and what pages override in it. The default locale can't be deleted."},
	"restoreLocale": {"Locales", "Restore a deleted locale", "It comes back as it was. 409 if it is not deleted, or if its code, domain, prefix or a pathname has been taken since."},

	"listRoutes":  {"Routes", "List routes", "Oldest first."},
	"createRoute": {"Routes", "Create a route", "The pathname must be free in the draft and in the live version."},
	"getRoute":    {"Routes", "Get a route", ""},
	"updateRoute": {"Routes", "Update a route", ""},
	"deleteRoute": {"Routes", "Delete a route", ""},

	"listRedirects":   {"Redirects", "List redirects", "By source, ties by id. With `locale`, the redirects of that locale and those of every locale."},
	"createRedirect":  {"Redirects", "Create a redirect", "In the draft. 409 if a page, a route or another redirect of that locale has the source, or if following redirects would come round again."},
	"batchRedirects":  {"Redirects", "Change many redirects", "1 to 1,000 operations in one step, in a body of at most 8 MiB: all of them happen or none. Results are in the order of the operations. `create` needs a `source` and a `target`. `update` and `delete` name their redirect by `redirectId`, or else by `source` with `locale`: those that it has before the batch. An `update` by `redirectId` takes `source` and `locale` as new values; one by `source` can't change them. `delete` takes no values. Sources and circles are checked as they are after the whole batch. On any error nothing is changed, and there is a detail for each problem of each operation: 400 if anything is malformed, or else 404 if a redirect or locale does not exist, or else 409."},
	"getRedirect":     {"Redirects", "Get a redirect", ""},
	"updateRedirect":  {"Redirects", "Update a redirect", "In the draft. Fields left out stay as they are. An automatic redirect that is changed becomes an ordinary one."},
	"deleteRedirect":  {"Redirects", "Delete a redirect", "From the draft. It can be restored. 409 if another redirect, which it stood before, would lead round again."},
	"restoreRedirect": {"Redirects", "Restore a deleted redirect", "409 if it is not deleted, or if its source has been taken since."},
	"discardRedirect": {"Publishing", "Discard a redirect's draft", "The draft, deleted or not, becomes what is live. A redirect that was never live is deleted, and the answer is 204."},

	"listPages":         {"Pages", "List pages", "In the order asked for, by Unicode code point; nulls last in ascending order; ties by id."},
	"createPage":        {"Pages", "Create a page", "In the draft: the live version does not change."},
	"batchPages":        {"Pages", "Change many pages", "1 to 1,000 operations in one step, in a body of at most 8 MiB: all of them happen or none. Results are in the order of the operations. `create` needs a `pathname` and may carry `localizations`. `update` and `delete` name their page by `pageId`, or else by `pathname`: the one that the page has before the batch, among those in effect in `locale` if that is given. An `update` by `pageId` takes `pathname` as the new value; one by `pathname` can't change it. `delete` takes no values. Pathnames are checked as they are after the whole batch, so that pages can swap them. On any error nothing is changed, and there is a detail for each problem of each operation, whatever its kind: 400 if anything is malformed, or else 404 if a page or locale does not exist, or else 409."},
	"getPage":           {"Pages", "Get a page", "By id, or by pathname with `siteId`. With `locale`, every field is answered as it stands there."},
	"updatePage":        {"Pages", "Update a page", "In the draft. Fields left out stay as they are. With `locale`, writes overrides, and null returns a field to inheritance."},
	"deletePage":        {"Pages", "Delete a page", "From the draft, in every locale. It can be restored. With `locale`, a pathname is looked up in that locale."},
	"restorePage":       {"Pages", "Restore a deleted page", "409 if it is not deleted, or if its pathname has been taken since."},
	"publishPage":       {"Publishing", "Publish one page", "Answers 200 with a null id when there is nothing to publish."},
	"discardPage":       {"Publishing", "Discard a page's draft", "The draft, deleted or not, becomes what is live. A page that was never live is deleted, and the answer is 204."},
	"listPagePublishes": {"Publishing", "List the publishes of a page", "Those that changed it, newest first."},
	"delocalizePage":    {"Pages", "Drop a page's localization", "Everything that the locale overrides returns to inheritance."},
}
