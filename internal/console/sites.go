package console

import (
	"net/http"
	"net/url"
)

// site is a site of the workspace.
type site struct {
	ID, Name           string
	HostOrigin         *string
	PublicAPIKey       string
	SiteKeyAccess      string
	Labels             []string
	AutoRedirects      bool
	PreviewURLTemplate *string
	DefaultLocale      string
	CreatedAt          string
	UpdatedAt          string
}

// origin is where visitors find the site, without the scheme.
func (s site) origin() string {
	if s.HostOrigin == nil {
		return ""
	}
	u, err := url.Parse(*s.HostOrigin)
	if err != nil {
		return *s.HostOrigin
	}
	return u.Host
}

// siteRow is a site in the list, with what is going on in it.
type siteRow struct {
	site
	summary *siteSummary
}

// siteList is what the screen Sites shows.
type siteList struct {
	find    string
	label   string
	deleted bool
	rows    []siteRow
	hasMore bool
	after   string
}

func (l siteList) address(after string) string {
	deleted := ""
	if l.deleted {
		deleted = "true"
	}
	return at(sitesPath, "find", l.find, "label", l.label, "deleted", deleted, "after", after)
}

// isFirst reports whether nothing restricts the list.
func (l siteList) isFirst() bool { return l.find == "" && l.label == "" && !l.deleted && l.after == "" }

// sitesShown is how many sites a screen lists: each costs a request for its summary.
const sitesShown = "50"

func showSites(v *visit) error {
	if v.Method == http.MethodPost {
		return restoreSite(v)
	}
	q := v.URL.Query()
	l := siteList{find: q.Get("find"), label: q.Get("label"), deleted: q.Get("deleted") == "true", after: q.Get("after")}
	deleted := ""
	if l.deleted {
		deleted = "true"
	}
	found, err := read[list[site]](v.get("/v2/sites", "limit", sitesShown, "search", l.find, "label", l.label, "deleted", deleted, "startingAfter", l.after))
	if err != nil {
		return err
	}
	l.hasMore = found.HasMore
	for _, s := range found.Data {
		row := siteRow{site: s}
		if !l.deleted {
			if summary, err := read[siteSummary](v.get("/v2/sites/" + s.ID + "/summary")); err == nil {
				row.summary = &summary
			}
		}
		l.rows = append(l.rows, row)
	}
	return v.show(http.StatusOK, sitesTitle, sitesScreen(v, l))
}

func restoreSite(v *visit) error {
	restored, err := read[site](v.send(http.MethodPost, "/v2/sites/"+url.PathEscape(v.PostFormValue("site"))+"/restore", nil))
	if err != nil {
		return err
	}
	return v.done(sitesPath, siteRestored(restored.Name))
}

// mayCreateSites says why the key can't create sites, or nothing.
func (v *visit) mayCreateSites() string {
	if v.me.SiteIDs != nil {
		return restrictedSite
	}
	return v.lacks("write")
}

func newSite(v *visit) error {
	typed := site{DefaultLocale: "en-US"}
	if v.Method != http.MethodPost {
		return v.show(http.StatusOK, newSiteTitle, newSiteScreen(v, typed, nil))
	}
	origin := v.PostFormValue("hostOrigin")
	typed = site{Name: v.PostFormValue("name"), HostOrigin: &origin, DefaultLocale: v.PostFormValue("defaultLocale")}
	body := map[string]any{"name": typed.Name, "defaultLocale": typed.DefaultLocale}
	if origin != "" {
		body["hostOrigin"] = origin
	}
	made, err := read[site](v.send(http.MethodPost, "/v2/sites", body))
	if p := problemOf(err); p != nil && p.Status == http.StatusBadRequest {
		return v.show(http.StatusBadRequest, newSiteTitle, newSiteScreen(v, typed, p))
	}
	if err != nil {
		return err
	}
	return v.done(sitePath(made.ID, "/pages"), siteCreated(made.Name))
}

// curlSite is the command that creates a site.
func curlSite(v *visit) string {
	scheme := "http"
	if v.c.api.IsSecure(v.Request) {
		scheme = "https"
	}
	return `curl -H "x-api-key: $GALLEY_KEY" -H "content-type: application/json" -d '{"name": "My site"}' ` + scheme + "://" + v.Host + "/v2/sites"
}
