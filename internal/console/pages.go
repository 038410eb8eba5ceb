package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// pagesQuery is what the address of the screen Pages says.
type pagesQuery struct {
	site    string
	view    string // tree or list
	locale  string // "": the default one
	version string // draft, live or publish:ID
	under   string
	open    []string // folders of the tree
	status  string
	find    string
	sort    string // a field, with a minus for the other direction
	after   string
	page    string // in the panel
}

func readPagesQuery(v *visit) pagesQuery {
	q := v.URL.Query()
	p := pagesQuery{
		site: v.site.ID, view: q.Get("view"), locale: q.Get("locale"), version: q.Get("version"), under: q.Get("under"), open: q["open"],
		status: q.Get("status"), find: q.Get("find"), sort: q.Get("sort"), after: q.Get("after"), page: q.Get("page"),
	}
	if p.locale == v.site.DefaultLocale {
		p.locale = ""
	}
	if p.version == "" {
		p.version = "draft"
	}
	return p
}

// isTree reports whether folders are shown. A search, a filter or another order makes a
// list.
func (p pagesQuery) isTree() bool {
	return p.view != "list" && p.find == "" && p.status == "" && p.sort == ""
}

func (p pagesQuery) isDraft() bool { return p.version == "draft" }

// isFiltered reports whether a filter may hide pages.
func (p pagesQuery) isFiltered() bool {
	return p.find != "" || p.status != "" || p.under != "" || p.after != ""
}

func (p pagesQuery) address() string {
	version := p.version
	if version == "draft" {
		version = ""
	}
	address := at(sitePath(p.site, "/pages"), "view", p.view, "locale", p.locale, "version", version, "under", p.under, "status", p.status,
		"find", p.find, "sort", p.sort, "after", p.after, "page", p.page)
	for _, open := range p.open {
		separator := "&"
		if !strings.Contains(address, "?") {
			separator = "?"
		}
		address += separator + "open=" + url.QueryEscape(open)
	}
	return address
}

// Each of these is the query with something else.

func (p pagesQuery) withPage(id string) pagesQuery       { p.page = id; return p }
func (p pagesQuery) withLocale(code string) pagesQuery   { p.locale = code; return p.first() }
func (p pagesQuery) withVersion(ref string) pagesQuery   { p.version, p.page = ref, ""; return p.first() }
func (p pagesQuery) withStatus(status string) pagesQuery { p.status = status; return p.first() }
func (p pagesQuery) withView(view string) pagesQuery     { p.view, p.sort = view, ""; return p.first() }
func (p pagesQuery) withUnder(path string) pagesQuery    { p.under, p.open = path, nil; return p.first() }
func (p pagesQuery) withAfter(cursor string) pagesQuery  { p.after = cursor; return p }
func (p pagesQuery) first() pagesQuery                   { p.after = ""; return p }

func (p pagesQuery) withSort(field string) pagesQuery {
	if p.sort == field || (field == "path" && p.sort == "") {
		field = "-" + field
	}
	if p.sort = field; field == "path" {
		p.sort = ""
	}
	return p.first()
}

// toggled opens a folder, or closes it with those below it.
func (p pagesQuery) toggled(path string) pagesQuery {
	if !slices.Contains(p.open, path) {
		p.open = append(slices.Clone(p.open), path)
		return p
	}
	p.open = slices.DeleteFunc(slices.Clone(p.open), func(o string) bool { return o == path || strings.HasPrefix(o, path+"/") })
	return p
}

// versionRef is the version as REST names it.
func (p pagesQuery) versionRef() string {
	switch p.version {
	case "draft", "":
		return ""
	case "live":
		return "ref:live"
	}
	return p.version
}

// pageRow is a row of the list or the tree.
type pageRow struct {
	id        string // of a page; "": a folder or route
	path      string
	label     string // the last segment in a tree, the whole path in a list
	depth     int
	title     *string
	state     string
	overrides []string
	isRoute   bool
	count     int
	isOpen    bool
	updated   string
	more      string // the address of what follows in this folder
}

// has reports whether a field is the locale's own.
func (r pageRow) has(field string) bool { return slices.Contains(r.overrides, field) }

// pagesView is what the screen Pages shows.
type pagesView struct {
	pagesQuery
	locales   []locale
	publishes []publish
	rows      []pageRow
	next      string // the address of the rows that follow
	panel     *pageView
	shown     *locale // the locale that is shown
}

// Rows of a screen, and of an open folder: the page stays small.
const (
	rowsShown   = "100"
	folderShown = "50"
	maxOpen     = 20
)

func showPages(v *visit) error {
	q := readPagesQuery(v)
	if v.Method == http.MethodPost {
		return bulk(v, q)
	}
	shown := pagesView{pagesQuery: q}
	var err error
	if shown.locales, err = v.locales(); err != nil {
		return err
	}
	for i, l := range shown.locales {
		if l.Locale == q.locale || (q.locale == "" && l.IsDefault) {
			shown.shown = &shown.locales[i]
		}
	}
	if shown.shown == nil {
		return &problem{Status: http.StatusNotFound, Message: localeNotFound}
	}
	if publishes, err := read[list[publish]](v.get("/v2/sites/"+v.site.ID+"/publishes", "limit", "20")); err == nil {
		shown.publishes = slices.DeleteFunc(publishes.Data, func(p publish) bool { return p.Status != "published" })
	}
	if q.isTree() {
		err = shown.readTree(v)
	} else {
		err = shown.readList(v)
	}
	if err == nil && q.page != "" {
		shown.panel, err = readPage(v, q.page, q.locale, q.version)
	}
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, navPages, pagesScreen(v, shown))
}

// locales are those of the site.
func (v *visit) locales() ([]locale, error) {
	found, err := read[list[locale]](v.get("/v2/locales", "siteId", v.site.ID, "limit", "100"))
	return found.Data, err
}

func (s *pagesView) readList(v *visit) error {
	by, direction := strings.TrimPrefix(s.sort, "-"), "asc"
	if strings.HasPrefix(s.sort, "-") {
		direction = "desc"
	}
	deleted, status, offline := "", s.status, "true"
	if status == "deleted" {
		deleted, status, offline = "true", "", ""
	} else if status != "" {
		offline = ""
	}
	found, err := read[list[page]](v.get("/v6/pages", "siteId", v.site.ID, "limit", rowsShown, "search", s.find, "status", status, "deleted", deleted,
		"includeOffline", offline, "locale", s.locale, "versionRef", s.versionRef(), "sortBy", orElse(by, "path"), "sortDirection", direction,
		"pathPrefix", s.under, "startingAfter", s.after))
	if err != nil {
		return err
	}
	for _, p := range found.Data {
		state := stateOf(p.Status, p.IsOnline)
		if deleted != "" {
			state = "deleted"
		}
		s.rows = append(s.rows, pageRow{id: p.ID, path: p.Pathname, label: p.Pathname, title: p.Title, state: state, overrides: p.Overrides, updated: p.UpdatedAt})
	}
	if found.HasMore {
		s.next = s.withAfter(found.Data[len(found.Data)-1].ID).address()
	}
	return nil
}

func (s *pagesView) readTree(v *visit) error {
	under := orElse(s.under, "/")
	if s.after == "" { // the page of the folder itself
		if home, err := read[page](v.get("/v6/pages/"+url.PathEscape(under), "siteId", v.site.ID, "locale", s.locale, "versionRef", s.versionRef())); err == nil {
			s.rows = append(s.rows, pageRow{id: home.ID, path: under, label: under, title: home.Title, state: stateOf(home.Status, home.IsOnline), overrides: home.Overrides, updated: home.UpdatedAt})
		}
	}
	if len(s.open) > maxOpen {
		s.open = s.open[len(s.open)-maxOpen:]
	}
	hasMore, last, err := s.readFolder(v, under, s.after, rowsShown, 0)
	if hasMore {
		s.next = s.withAfter(last).address()
	}
	return err
}

// readFolder reads the rows below a path, and of the folders below that are open.
func (s *pagesView) readFolder(v *visit, under, after, limit string, depth int) (hasMore bool, last string, err error) {
	found, err := read[list[segment]](v.get("/v6/pages/tree", "siteId", v.site.ID, "under", under, "locale", s.locale,
		"versionRef", s.versionRef(), "limit", limit, "startingAfter", after))
	if err != nil {
		return false, "", err
	}
	for _, seg := range found.Data {
		row := pageRow{path: seg.Pathname, label: seg.Pathname[strings.LastIndexByte(seg.Pathname, '/')+1:], depth: depth, count: seg.Count, isRoute: seg.RouteID != nil}
		if p := seg.Page; p != nil {
			row.id, row.title, row.overrides, row.updated = p.ID, p.Title, p.Overrides, p.UpdatedAt
			row.state = stateOf(deref(p.Status), p.IsOnline)
		}
		row.isOpen = seg.HasChildren && slices.Contains(s.open, seg.Pathname)
		s.rows = append(s.rows, row)
		if row.isOpen {
			more, last, err := s.readFolder(v, seg.Pathname, "", folderShown, depth+1)
			if err != nil {
				return false, "", err
			}
			if more {
				s.rows = append(s.rows, pageRow{path: seg.Pathname, label: row.label, depth: depth + 1, more: s.withUnder(seg.Pathname).withAfter(last).address()})
			}
		}
		last = seg.Pathname
	}
	return found.HasMore, last, nil
}

// stateOf names the state of a page.
func stateOf(status string, isOnline bool) string {
	if !isOnline {
		return "offline"
	}
	return orElse(status, "live")
}

// ariaSort is the order of a column.
func (p pagesQuery) ariaSort(field string) string {
	switch {
	case p.sort == field, field == "path" && p.sort == "":
		return "ascending"
	case p.sort == "-"+field:
		return "descending"
	}
	return ""
}

// crumbs are the folders from the root to the one that is shown.
func (p pagesQuery) crumbs() []string {
	var paths []string
	for i, c := range p.under {
		if c == '/' && i > 0 {
			paths = append(paths, p.under[:i])
		}
	}
	if p.under != "" && p.under != "/" {
		paths = append(paths, p.under)
	}
	return paths
}
