package httpapi_test

import "slices"

// hostileRuntimeReads are requests of a Site key for live pages, in a site that was
// never published.
var hostileRuntimeReads = slices.Concat(
	eachRaw(hostile{name: "pathname", as: "{siteKey}", target: "/v3/pages/%s", status: 404, message: pageNotFound},
		slices.Concat(noPathnames, []string{"about", "%2Fabout", "%2F", "{about}", "{nil}", "checkout", "a/b", "%2Fa%2Fb"})...),
	eachRaw(hostile{name: "no such address", as: "{siteKey}", target: "%s", status: 404, message: "There is nothing at this address"},
		"/v3/pages", "/v3/pages/", "/v5/pages/", "/v5/pages/about", "/v4/pages/%2Fabout/document"),
	runtimeParameter("locale", 400, "", "..", "fr_FR", "fr,de", "fr&locale=fr", "%FF", "fr%00"),
	runtimeParameter("locale", 404, "it", "{unknown}", "{nil}"),
	runtimeParameter("after", 400, "", "abc", "{nil}", "{unknown}", "{about}", "{otherPage}", "{foreignPage}", "{fr}", "{about}&after={about}"),
	runtimeParameter("limit", 400, "", "0", "101", "-1", "1.5", "abc", "5&limit=5"),
	runtimeParameter("sortBy", 400, "", "Path", "id", "pathname", "path,title"),
	runtimeParameter("sortDirection", 400, "", "ASC", "up"),
	runtimeParameter("includeOffline", 400, "", "1", "TRUE", "true&includeOffline=true"),
	runtimeParameter("pathPrefix", 400, "", "/%00", "/caf%C3"),
	runtimeParameter("startingAfter", 400, "{about}"), runtimeParameter("siteId", 400, "{site}"), runtimeParameter("versionRef", 400, "ref:draft"),
	runtimeParameter("version", 400, "ref:draft"), runtimeParameter("x", 400, "1"),
	[]hostile{
		{name: "parameters of a page", as: "{siteKey}", target: "/v3/pages/%2Fabout?siteId={site}&versionRef=ref:draft&locale=..", status: 400, fields: []string{"locale", "siteId", "versionRef"}},
		{name: "unknown locale of a page", as: "{siteKey}", target: "/v3/pages/%2Fabout?locale=it", status: 404, message: "Locale not found"},
		{name: "every parameter", as: "{siteKey}", target: "/v5/pages?limit=100&sortBy=description&sortDirection=desc&includeOffline=true&pathPrefix=/a&locale=fr", status: 200, shows: `"data":[]`},
		{name: "headers of the package", as: "{siteKey}", target: "/v5/pages", headers: []string{"makeswift-site-api-key", "{siteKey}", "makeswift-runtime-version", "0.26.4"}, status: 200},
		{name: "key in the package's own header alone", as: "-", target: "/v5/pages", headers: []string{"makeswift-site-api-key", "{siteKey}"}, status: 401},
		{name: "App key that lists", target: "/v5/pages", status: 403},
		{name: "App key that reads", target: "/v3/pages/%2Fabout", status: 403},
		{name: "query before the right", target: "/v5/pages?x=1", status: 400, fields: []string{"x"}},
		{name: "write to the list", as: "{siteKey}", method: "POST", target: "/v5/pages", body: `{}`, status: 405, header: "Allow: GET, HEAD"},
		{name: "write to a page", as: "{siteKey}", method: "DELETE", target: "/v3/pages/%2Fabout", status: 405, header: "Allow: GET, HEAD"},
	},
)

// runtimeParameter are values of one parameter of the list, and the status that they get.
func runtimeParameter(name string, status int, values ...string) []hostile {
	c := hostile{name: name, as: "{siteKey}", target: "/v5/pages?" + name + "=%s", status: status}
	if status == 400 {
		c.fields = []string{name}
	}
	return eachRaw(c, values...)
}
