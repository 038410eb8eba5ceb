package console

// screen is an address of the console.
type screen struct {
	pattern string
	handle  func(*visit) error
	scope   string // that it needs; "": any
	nav     string // which row of the nav it belongs to
}

// screens are all screens that need a session.
var screens = []screen{
	{pattern: sitesPath, handle: showSites, scope: "read", nav: "sites"},
	{pattern: "/console/sites/new", handle: newSite, scope: "read", nav: "sites"},
	{pattern: "/console/sites/{site}/pages", handle: showPages, scope: "read", nav: "pages"},
	{pattern: "/console/sites/{site}/pages/new", handle: newPage, scope: "read", nav: "pages"},
	{pattern: "/console/sites/{site}/pages/{page}", handle: showPage, scope: "read", nav: "pages"},
	{pattern: "/console/sites/{site}/pages/{page}/content", handle: showContent, scope: "read", nav: "pages"},
	{pattern: "/console/sites/{site}/pages/{page}/compare", handle: comparePage, scope: "read", nav: "pages"},
	{pattern: "/console/sites/{site}/review", handle: showReview, scope: "read", nav: "review"},
	{pattern: "/console/sites/{site}/review/{plan}", handle: showReview, scope: "read", nav: "review"},
	{pattern: "/console/sites/{site}/review/redirects.csv", handle: downloadRedirects, scope: "read", nav: "review"},
	{pattern: "/console/sites/{site}/publishes", handle: showPublishes, scope: "read", nav: "publishes"},
	{pattern: "/console/publishes/{publish}", handle: showPublish, scope: "read", nav: "publishes"},
	{pattern: "/console/publishes/{publish}/restore", handle: restorePublish, scope: "read", nav: "publishes"},
	{pattern: "/console/sites/{site}/scheduled", handle: showScheduled, scope: "read", nav: "scheduled"},
	{pattern: scheduledPath, handle: showScheduled, scope: "read", nav: "allScheduled"},
	{pattern: keysPath, handle: showKeys, scope: "admin", nav: "keys"},
	{pattern: "/console/keys/new", handle: newKey, scope: "admin", nav: "keys"},
	{pattern: "/console/keys/{app}", handle: showKey, scope: "admin", nav: "keys"},
	{pattern: auditPath, handle: showAudit, scope: "admin", nav: "audit"},
	{pattern: webhooksPath, handle: showWebhooks, scope: "admin", nav: "webhooks"},
	{pattern: "/console/webhooks/new", handle: newWebhook, scope: "admin", nav: "webhooks"},
	{pattern: "/console/webhooks/{webhook}", handle: showWebhook, scope: "admin", nav: "webhooks"},
	{pattern: eventsPath, handle: showEvents, scope: "read", nav: "events"},
	{pattern: palettePath, handle: showPalette},
	{pattern: keyboardPath, handle: showKeyboard},
	{pattern: livePath, handle: streamLive, scope: "read"},
	{pattern: "/console/sites/{site}/locales", handle: showLocales, scope: "read", nav: "locales"},
	{pattern: "/console/sites/{site}/routes", handle: showRoutes, scope: "read", nav: "routes"},
	{pattern: "/console/session", handle: showYou, nav: "you"},
}

// navRow is a row of the nav, and an answer of the palette.
type navRow struct {
	id, name, icon string
	path           string // for rows of a site, below its address
	scope          string
	key            string // after g
}

// siteRows are the rows of a site, and workspaceRows those of all.
var siteRows = []navRow{
	{id: "pages", name: navPages, icon: "file-text", path: "/pages", scope: "read", key: "p"},
	{id: "review", name: navReview, icon: "git-compare", path: "/review", scope: "read", key: "r"},
	{id: "publishes", name: navPublishes, icon: "history", path: "/publishes", scope: "read", key: "h"},
	{id: "scheduled", name: navScheduled, icon: "calendar-clock", path: "/scheduled", scope: "read", key: "t"},
	{id: "locales", name: navLocales, icon: "languages", path: "/locales", scope: "read", key: "l"},
	{id: "routes", name: navRoutes, icon: "signpost", path: "/routes", scope: "read"},
}

var workspaceRows = []navRow{
	{id: "sites", name: navSites, icon: "layers", path: sitesPath, scope: "read", key: "s"},
	{id: "allScheduled", name: navAllScheduled, icon: "calendar-clock", path: scheduledPath, scope: "read"},
	{id: "keys", name: navKeys, icon: "key-round", path: keysPath, scope: "admin", key: "k"},
	{id: "audit", name: navAudit, icon: "scroll-text", path: auditPath, scope: "admin", key: "a"},
	{id: "webhooks", name: navWebhooks, icon: "webhook", path: webhooksPath, scope: "admin", key: "w"},
	{id: "events", name: navEvents, icon: "radio", path: eventsPath, scope: "read", key: "e"},
}

// navFacts are the figures that the nav shows.
type navFacts struct {
	summary *siteSummary
	failed  int // publishes since the last one that went live
}

// siteSummary is what the nav and the sites show of a site.
type siteSummary struct {
	Pages, Online, Offline, Changed, Redirects, Routes int
	Locales                                            []struct {
		Locale    string
		Localized int
	}
	LastPublish   *publish
	Scheduled     int
	NextPublishAt *string
}

// loadNav reads what the nav shows. It is left out of an htmx request, which keeps the
// nav.
func (v *visit) loadNav() {
	if v.token == "" || isPartial(v.Request) || !v.me.can("read") {
		return
	}
	if v.site != nil {
		if s, err := read[siteSummary](v.get("/v2/sites/" + v.site.ID + "/summary")); err == nil {
			v.nav.summary = &s
			if recent, err := v.publishes("20"); err == nil {
				v.nav.failed = failedSince(recent, s.LastPublish)
			}
		}
	}
}

func sitePath(siteID, rest string) string { return sitesPath + "/" + siteID + rest }
