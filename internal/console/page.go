package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// pathValue escapes a value in the path of a REST address.
func pathValue(s string) string { return url.PathEscape(s) }

// pageField is a field of a page in a form.
type pageField struct {
	name  string
	label string
	value string
	kind  string // text, area, online, robots or frequency
	mono  bool

	isOwn    bool   // of the locale
	editable bool   // in the form
	source   string // what the default locale has
	differs  bool   // from live
	wrong    string
	theirs   *string // what somebody else saved meanwhile
}

// pageView is a page in a locale, with what it inherits and what is live.
type pageView struct {
	page
	etag     string
	version  string
	isLocale bool // not the default one
	fields   []pageField
	tabs     []localeTab
	address  string // where visitors find it
	problem  *problem
	conflict bool
	hasLive  bool
	content  *content
}

// localeTab is a locale of a page, with how many fields it says.
type localeTab struct {
	code string
	own  int
}

// fieldKinds are the fields of a page, in the order of the form.
var fieldKinds = []struct {
	name, label, kind string
	mono              bool
}{
	{"pathname", fieldPathname, "text", true}, {"title", fieldTitle, "text", false}, {"description", fieldDescription, "area", false},
	{"socialImageUrl", fieldSocialImage, "text", true}, {"canonicalUrl", fieldCanonical, "text", true},
	{"sitemapPriority", fieldPriority, "text", false}, {"sitemapFrequency", fieldFrequency, "frequency", false},
	{"isOnline", fieldOnline, "online", false}, {"excludedFromSearchEngines", fieldRobots, "robots", false},
}

// stickFields are the fields of the composing stick.
var stickFields = []string{
	"pathname", "title", "description", "canonicalUrl", "socialImageUrl", "sitemapPriority", "sitemapFrequency", "isOnline", "excludedFromSearchEngines",
}

var frequencies = []string{"", "always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}

// text is the value of a field as a form has it.
func (p page) text(field string) string {
	switch field {
	case "pathname":
		return p.Pathname
	case "title":
		return deref(p.Title)
	case "description":
		return deref(p.Description)
	case "socialImageUrl":
		return deref(p.SocialImageURL)
	case "canonicalUrl":
		return deref(p.CanonicalURL)
	case "sitemapFrequency":
		return deref(p.SitemapFrequency)
	case "sitemapPriority":
		if p.SitemapPriority != nil {
			return strconv.FormatFloat(*p.SitemapPriority, 'f', -1, 64)
		}
	case "isOnline":
		return boolText(p.IsOnline)
	case "excludedFromSearchEngines":
		if p.ExcludedFromSearchEngines != nil {
			return boolText(*p.ExcludedFromSearchEngines)
		}
	}
	return ""
}

// readPage reads a page for the panel.
func readPage(v *visit, id, locale, version string) (*pageView, error) {
	path := "/v6/pages/" + pathValue(id)
	ref := pagesQuery{version: version}.versionRef()
	answer := v.get(path, "locale", locale, "versionRef", ref)
	shown, err := read[page](answer)
	if err != nil {
		return nil, err
	}
	if shown.SiteID != v.site.ID {
		return nil, &problem{Status: http.StatusNotFound, Message: pageNotFound}
	}
	w := &pageView{page: shown, etag: answer.Header.Get("Etag"), version: version, isLocale: locale != "" && locale != v.site.DefaultLocale}
	source, live := shown, shown
	if w.isLocale {
		if source, err = read[page](v.get(path, "versionRef", ref)); err != nil {
			return nil, err
		}
	}
	if version == "draft" {
		live, err = read[page](v.get(path, "locale", locale, "versionRef", "ref:live"))
		w.hasLive = err == nil
	}
	for _, k := range fieldKinds {
		f := pageField{name: k.name, label: k.label, kind: k.kind, mono: k.mono, value: shown.text(k.name), source: source.text(k.name)}
		f.isOwn = w.isLocale && slices.Contains(shown.Overrides, k.name)
		f.editable = version == "draft" && (!w.isLocale || f.isOwn)
		f.differs = w.hasLive && live.text(k.name) != f.value
		w.fields = append(w.fields, f)
	}
	w.readTabs(v, path, ref)
	if c, err := read[content](v.get(path+"/content", "locale", locale, "versionRef", ref)); err == nil {
		w.content = &c
	}
	if v.site.HostOrigin != nil {
		w.address = v.site.origin() + shown.Pathname
	}
	return w, nil
}

// manyLocales is when the tabs no longer say how much each locale has of its own.
const manyLocales = 12

func (w *pageView) readTabs(v *visit, path, ref string) {
	locales, err := v.locales()
	if err != nil {
		return
	}
	for _, l := range locales {
		t := localeTab{code: l.Locale}
		has := slices.ContainsFunc(w.Localizations, func(o struct{ Pathname, Locale, ID string }) bool { return o.Locale == l.Locale })
		switch {
		case l.Locale == w.Locale:
			t.own = len(w.Overrides)
		case has && len(locales) <= manyLocales:
			if other, err := read[page](v.get(path, "locale", l.Locale, "versionRef", ref)); err == nil {
				t.own = len(other.Overrides)
			}
		}
		w.tabs = append(w.tabs, t)
	}
}

// override makes a field of the form editable that the locale inherits.
func (w *pageView) override(field string) {
	for i := range w.fields {
		if w.fields[i].name == field && w.version == "draft" {
			w.fields[i].editable, w.fields[i].isOwn = true, true
		}
	}
}

// showPage is the handler of a page on its own.
func showPage(v *visit) error {
	id, q := v.PathValue("page"), v.URL.Query()
	version := orElse(q.Get("version"), "draft")
	if v.Method == http.MethodPost {
		return writePage(v, id)
	}
	w, err := readPage(v, id, q.Get("locale"), version)
	if err != nil {
		return err
	}
	for _, field := range q["override"] {
		w.override(field)
	}
	return v.show(http.StatusOK, w.Name, pageScreen(v, *w))
}

func pagePath(siteID, id, rest string) string { return sitePath(siteID, "/pages/"+id+rest) }

// writePage does what the form of a page says.
func writePage(v *visit, id string) error {
	loc := v.URL.Query().Get("locale")
	if loc == v.site.DefaultLocale {
		loc = ""
	}
	back := v.PostFormValue("back")
	if !isOwn(back) {
		back = at(pagePath(v.site.ID, id, ""), "locale", loc)
	}
	path, self := "/v6/pages/"+pathValue(id), at(pagePath(v.site.ID, id, ""), "locale", loc)
	do, field, _ := strings.Cut(v.PostFormValue("do"), ":")
	var answer Answer
	var message string
	switch do {
	case "save":
		return savePage(v, id, loc, back)
	case "reset":
		answer, message = v.send(http.MethodPatch, at(path, "locale", loc), map[string]any{field: nil}), fieldReset(field)
	case "discard":
		answer, message = v.send(http.MethodPost, path+"/discard", nil), pageDiscarded
	case "delete":
		return v.show(http.StatusOK, deletePageButton, confirmScreen(v, confirmation{
			title: deletePageButton, text: deletePagesText, button: deletePageButton, action: self, do: "deleteConfirmed", back: self,
		}))
	case "deleteConfirmed":
		answer, message = v.send(http.MethodDelete, path, nil), pagesDeleted(1)
		back = sitePath(v.site.ID, "/pages")
	case "restore":
		answer, message = v.send(http.MethodPost, path+"/restore", nil), pagesRestored(1)
	case "publish":
		redirect(v.w, v.Request, at(sitePath(v.site.ID, "/review"), "pages", id))
		return nil
	default:
		return &problem{Status: http.StatusBadRequest, Message: badForm}
	}
	if p := answer.problem(); p != nil {
		return p
	}
	if do == "discard" && answer.Status == http.StatusNoContent { // it was never published
		back = sitePath(v.site.ID, "/pages")
	}
	return v.done(back, message)
}

// savePage writes the fields that the form has.
func savePage(v *visit, id, loc, back string) error {
	body := map[string]any{}
	for _, k := range fieldKinds {
		if values, given := v.PostForm[k.name]; given {
			body[k.name] = fieldValue(k.name, values[0], loc != "")
		}
	}
	if name := v.PostFormValue("name"); name != "" && loc == "" {
		body["name"] = name
	}
	answer := v.do(Request{Method: http.MethodPatch, Address: at("/v6/pages/"+pathValue(id), "locale", loc), Body: body, IfMatch: v.PostFormValue("etag")})
	p := answer.problem()
	if p == nil {
		return v.done(back, pageSaved)
	}
	if p.Status != http.StatusBadRequest && p.Status != http.StatusConflict && p.Status != http.StatusPreconditionFailed {
		return p
	}
	w, err := readPage(v, id, loc, "draft")
	if err != nil {
		return err
	}
	w.retype(v.PostForm, v.namingRoute(p, v.PostFormValue("pathname")))
	return v.show(p.Status, w.Name, pageScreen(v, *w))
}

// retype puts what was typed back into the form, with what is wrong with it. If somebody
// else has saved meanwhile, both values are shown.
func (w *pageView) retype(form url.Values, p *problem) {
	w.problem, w.conflict = p, p.Status == http.StatusPreconditionFailed
	for i := range w.fields {
		f := &w.fields[i]
		typed, given := form[f.name]
		if !given {
			continue
		}
		if w.conflict && typed[0] != f.value {
			f.theirs = new(f.value)
		}
		f.value, f.editable, f.isOwn = typed[0], true, w.isLocale
		f.wrong = p.field(f.name)
	}
	if p.Status == http.StatusConflict {
		for i := range w.fields {
			if w.fields[i].name == "pathname" {
				w.fields[i].wrong = p.Message
			}
		}
	}
}

// fieldValue is the value that a form means. One that is malformed is sent as it is, for
// REST to refuse.
func fieldValue(name, text string, isLocale bool) any {
	switch {
	case name == "pathname":
		return text
	case text == "" && (!isLocale || name != "title" && name != "description"):
		return nil
	}
	switch name {
	case "isOnline", "excludedFromSearchEngines":
		return text == "true"
	case "sitemapPriority":
		if n, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
			return n
		}
	}
	return text
}

// newPageForm is what the form of a new page has.
type newPageForm struct {
	pathname, title, name string
	problem               *problem
}

func newPage(v *visit) error {
	form := newPageForm{pathname: strings.TrimSuffix(v.URL.Query().Get("under"), "/") + "/"}
	if v.Method != http.MethodPost {
		return v.show(http.StatusOK, newPageTitle, newPageScreen(v, form))
	}
	form = newPageForm{pathname: v.PostFormValue("pathname"), title: v.PostFormValue("title"), name: v.PostFormValue("name")}
	body := map[string]any{"siteId": v.site.ID, "pathname": form.pathname}
	for field, value := range map[string]string{"title": form.title, "name": form.name} {
		if value != "" {
			body[field] = value
		}
	}
	made, err := read[page](v.send(http.MethodPost, "/v6/pages", body))
	if p := problemOf(err); p != nil && (p.Status == http.StatusBadRequest || p.Status == http.StatusConflict) {
		form.problem = v.namingRoute(p, form.pathname)
		return v.show(p.Status, newPageTitle, newPageScreen(v, form))
	}
	if err != nil {
		return err
	}
	if v.PostFormValue("do") == "another" {
		return v.done(at(sitePath(v.site.ID, "/pages/new"), "under", v.URL.Query().Get("under")), pageCreated(made.Pathname))
	}
	folder := made.Pathname[:strings.LastIndexByte(made.Pathname, '/')]
	query := pagesQuery{site: v.site.ID, page: made.ID}
	for i, c := range folder {
		if c == '/' && i > 0 {
			query.open = append(query.open, folder[:i])
		}
	}
	if folder != "" {
		query.open = append(query.open, folder)
	}
	return v.done(query.address(), pageCreated(made.Pathname))
}

// namingRoute names the route that has a pathname, if that is why it is refused.
func (v *visit) namingRoute(p *problem, pathname string) *problem {
	if p.Status == http.StatusConflict && pathname != "" {
		if r, err := read[route](v.get("/v2/routes/"+pathValue(pathname), "siteId", v.site.ID)); err == nil {
			p.Message = routeHas(r.Pathname)
		}
	}
	return p
}

// wrongPathname is what is wrong with the pathname of a new page.
func (f newPageForm) wrongPathname() string {
	if f.problem != nil && f.problem.Status == http.StatusConflict {
		return f.problem.Message
	}
	return f.problem.field("pathname")
}
