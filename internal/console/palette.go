package console

import (
	"net/http"
	"slices"
	"strings"
)

const (
	palettePath  = "/console/palette"
	keyboardPath = "/console/keyboard"
)

// paletteRow is an answer of the palette: a screen, an action, a site or a page.
type paletteRow struct{ name, note, icon, address string }

// paletteView is what the palette shows.
type paletteView struct {
	find string
	rows []paletteRow
}

// showPalette is the handler of the palette, which finds screens, actions, sites and the
// pages of a site. What the key may not do is not offered.
func showPalette(v *visit) error {
	q := v.URL.Query()
	shown := paletteView{find: strings.TrimSpace(q.Get("find"))}
	if id := q.Get("site"); id != "" {
		if err := v.enter(id); err != nil {
			return err
		}
	}
	for _, row := range v.paletteRows() {
		if matchesWords(row.name, shown.find) {
			shown.rows = append(shown.rows, row)
		}
	}
	if shown.find != "" && v.me.can("read") {
		shown.rows = append(shown.rows, v.foundPages(shown.find)...)
		shown.rows = append(shown.rows, v.foundSites(shown.find)...)
	}
	return v.show(http.StatusOK, paletteTitle, paletteScreen(v, shown))
}

// paletteRows are the screens and actions that the key may use.
func (v *visit) paletteRows() (rows []paletteRow) {
	add := func(scope, name, icon, address string) {
		if v.me.can(scope) {
			rows = append(rows, paletteRow{name: name, icon: icon, address: address})
		}
	}
	if v.site != nil {
		for _, row := range siteRows {
			add(row.scope, row.name, row.icon, sitePath(v.site.ID, row.path))
		}
		add("write", newPageButton, "plus", sitePath(v.site.ID, "/pages/new"))
	}
	for _, row := range workspaceRows {
		add(row.scope, row.name, row.icon, row.path)
	}
	if v.mayCreateSites() == "" {
		add("write", newSiteButton, "plus", "/console/sites/new")
	}
	add("admin", newKeyButton, "plus", "/console/keys/new")
	add("admin", newWebhookButton, "plus", "/console/webhooks/new")
	add("", navYou, "user", youPath)
	add("", keyboardTitle, "circle-help", keyboardPath)
	return rows
}

// matchesWords reports whether a word of a name begins with a text.
func matchesWords(name, text string) bool {
	text = strings.ToLower(text)
	name = strings.ToLower(name)
	return strings.HasPrefix(name, text) || slices.ContainsFunc(strings.Fields(name), func(word string) bool { return strings.HasPrefix(word, text) })
}

func (v *visit) foundPages(find string) (rows []paletteRow) {
	if v.site == nil {
		return nil
	}
	found, err := read[list[page]](v.get("/v6/pages", "siteId", v.site.ID, "search", find, "includeOffline", "true", "limit", "10"))
	if err != nil {
		return nil // the rest is of use without
	}
	for _, p := range found.Data {
		rows = append(rows, paletteRow{name: p.Pathname, note: deref(p.Title), icon: "file-text", address: pagesQuery{site: v.site.ID, page: p.ID, find: p.Pathname}.address()})
	}
	return rows
}

func (v *visit) foundSites(find string) (rows []paletteRow) {
	found, err := read[list[site]](v.get("/v2/sites", "search", find, "limit", "8"))
	if err != nil {
		return nil // the rest is of use without
	}
	for _, s := range found.Data {
		rows = append(rows, paletteRow{name: s.Name, note: s.origin(), icon: "layers", address: sitePath(s.ID, "/pages")})
	}
	return rows
}

// shortcut is what keys do.
type shortcut struct {
	keys []string
	does string
}

// showKeyboard is the handler of the list of keys.
func showKeyboard(v *visit) error {
	return v.show(http.StatusOK, keyboardTitle, keyboardScreen())
}
