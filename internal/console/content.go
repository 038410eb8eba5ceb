package console

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// contentView is the content of a page in a locale.
type contentView struct {
	page      page
	locales   []locale
	version   string
	text      string
	etag      string
	has       bool
	inherited bool
	patch     []patchStep // from live to the draft
	problem   *problem
}

// patchStep is a step of a JSON Patch.
type patchStep struct {
	Op, Path, From string
	Value          json.RawMessage
}

// showContent is the handler of the editor of a page's content.
func showContent(v *visit) error {
	id, q := v.PathValue("page"), v.URL.Query()
	w, err := readContent(v, id, q.Get("locale"), orElse(q.Get("version"), "draft"))
	if err != nil {
		return err
	}
	if v.Method == http.MethodPost {
		return writeContent(v, *w, q.Get("locale"))
	}
	return v.show(http.StatusOK, contentTitle, contentScreen(v, *w))
}

func readContent(v *visit, id, locale, version string) (*contentView, error) {
	path, ref := "/v6/pages/"+pathValue(id), pagesQuery{version: version}.versionRef()
	w := &contentView{version: version}
	var err error
	if w.page, err = read[page](v.get(path, "locale", locale, "versionRef", ref)); err != nil {
		return nil, err
	}
	if w.page.SiteID != v.site.ID {
		return nil, &problem{Status: http.StatusNotFound, Message: pageNotFound}
	}
	if w.locales, err = v.locales(); err != nil {
		return nil, err
	}
	answer := v.get(path+"/content", "locale", locale, "versionRef", ref)
	if found, err := read[struct {
		Value       json.RawMessage
		IsInherited bool
	}](answer); err == nil {
		w.has, w.inherited, w.text, w.etag = true, found.IsInherited, indented(found.Value), answer.Header.Get("Etag")
	} else if p := problemOf(err); p == nil || p.Status != http.StatusNotFound {
		return nil, err
	}
	if version == "draft" {
		if diff, err := read[struct{ Patch []patchStep }](v.get(path+"/content/diff", "locale", locale)); err == nil {
			w.patch = diff.Patch
		}
	}
	return w, nil
}

// indented writes JSON over lines. Numbers, strings and the order of keys stay as they are.
func indented(value []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, value, "", "  ") != nil {
		return string(value)
	}
	return out.String()
}

func writeContent(v *visit, w contentView, locale string) error {
	if locale == v.site.DefaultLocale {
		locale = ""
	}
	path, self := at("/v6/pages/"+pathValue(w.page.ID)+"/content", "locale", locale), at(pagePath(v.site.ID, w.page.ID, "/content"), "locale", locale)
	if v.PostFormValue("do") == "remove" {
		if p := v.send(http.MethodDelete, path, nil).problem(); p != nil {
			return p
		}
		return v.done(self, contentRemoved)
	}
	text := v.PostFormValue("content")
	request := Request{Method: http.MethodPut, Address: path, Body: json.RawMessage(text)}
	if w.has && !w.inherited {
		request.IfMatch = v.PostFormValue("etag")
	}
	p := v.do(request).problem()
	if p == nil {
		return v.done(self, contentSaved)
	}
	if p.Status >= http.StatusInternalServerError || p.Status == http.StatusForbidden {
		return p
	}
	w.text, w.problem = text, p
	return v.show(p.Status, contentTitle, contentScreen(v, w))
}

// compared is two versions of a page.
type compared struct {
	page     page
	from, to string
	locale   string
	versions []publish
	locales  []locale
	rows     []comparedField
}

type comparedField struct{ label, from, to string }

// comparePage is the handler of the comparison of two versions of a page.
func comparePage(v *visit) error {
	id, q := v.PathValue("page"), v.URL.Query()
	c := compared{from: orElse(q.Get("from"), "live"), to: orElse(q.Get("to"), "draft"), locale: q.Get("locale")}
	var err error
	if c.locales, err = v.locales(); err != nil {
		return err
	}
	sides := make([]page, 2)
	found := 0
	for i, version := range []string{c.from, c.to} {
		side, err := read[page](v.get("/v6/pages/"+pathValue(id), "locale", c.locale, "versionRef", pagesQuery{version: version}.versionRef()))
		switch p := problemOf(err); {
		case err == nil && side.SiteID != v.site.ID:
			return &problem{Status: http.StatusNotFound, Message: pageNotFound}
		case err == nil:
			sides[i], c.page = side, side
			found++
		case p == nil || p.Status != http.StatusNotFound:
			return err
		}
	}
	if found == 0 {
		return &problem{Status: http.StatusNotFound, Message: pageNotFound}
	}
	for _, k := range fieldKinds {
		from, to := "", ""
		if sides[0].ID != "" {
			from = shownValue(k.name, sides[0].text(k.name))
		}
		if sides[1].ID != "" {
			to = shownValue(k.name, sides[1].text(k.name))
		}
		if from != to {
			c.rows = append(c.rows, comparedField{k.label, from, to})
		}
	}
	if publishes, err := read[list[publish]](v.get("/v6/pages/"+pathValue(id)+"/publishes", "limit", "50")); err == nil {
		c.versions = publishes.Data
	}
	return v.show(http.StatusOK, compareTitle, compareScreen(v, c))
}
