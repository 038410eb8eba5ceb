package console

import (
	"net/http"
	"strings"
)

// localesView is what the screen Locales shows.
type localesView struct {
	locales []locale
	deleted []locale
	counts  map[string]int // of pages that a locale localizes
	edit    string         // the code of the locale in the form; "": a new one
	typed   localeForm
	problem *problem
}

type localeForm struct{ code, domain, prefix string }

func showLocales(v *visit) error {
	w := localesView{edit: v.URL.Query().Get("edit"), counts: map[string]int{}}
	if v.Method == http.MethodPost {
		return writeLocale(v, w)
	}
	return v.showLocales(http.StatusOK, w)
}

func (v *visit) showLocales(status int, w localesView) (err error) {
	if w.locales, err = v.locales(); err != nil {
		return err
	}
	if trash, err := read[list[locale]](v.get("/v2/locales", "siteId", v.site.ID, "deleted", "true", "limit", "100")); err == nil {
		w.deleted = trash.Data
	}
	if summary, err := read[siteSummary](v.get("/v2/sites/" + v.site.ID + "/summary")); err == nil {
		for _, l := range summary.Locales {
			w.counts[l.Locale] = l.Localized
		}
	}
	for _, l := range w.locales {
		if l.Locale == w.edit && w.problem == nil {
			w.typed = localeForm{l.Locale, deref(l.Domain), deref(l.PathPrefix)}
		}
	}
	return v.show(status, navLocales, localesScreen(v, w))
}

func writeLocale(v *visit, w localesView) error {
	self := sitePath(v.site.ID, "/locales")
	code := v.PostFormValue("code")
	at := func(code, rest string) string { return at("/v2/locales/"+pathValue(code)+rest, "siteId", v.site.ID) }
	var answer Answer
	var message string
	switch v.PostFormValue("do") {
	case "save":
		w.typed = localeForm{code, v.PostFormValue("domain"), v.PostFormValue("pathPrefix")}
		body := map[string]any{"locale": code, "domain": orNil(w.typed.domain), "pathPrefix": orNil(w.typed.prefix)}
		if w.edit == "" {
			body["siteId"] = v.site.ID
			answer, message = v.send(http.MethodPost, "/v2/locales", body), localeAdded(code)
		} else {
			answer, message = v.send(http.MethodPatch, at(w.edit, ""), body), localeSaved(code)
		}
		if p := answer.problem(); p != nil && (p.Status == http.StatusBadRequest || p.Status == http.StatusConflict) {
			w.problem = p
			return v.showLocales(p.Status, w)
		}
	case "default":
		return v.show(http.StatusOK, makeDefault, confirmScreen(v, confirmation{
			title: makeDefaultOf(code), text: makeDefaultText, button: makeDefaultOf(code), action: self, do: "defaultConfirmed", back: self, ids: []string{code},
		}))
	case "defaultConfirmed":
		code = v.PostFormValue("id")
		answer, message = v.send(http.MethodPatch, "/v2/sites/"+v.site.ID, map[string]any{"defaultLocale": code}), defaultIs(code)
	case "delete":
		return v.show(http.StatusOK, deleteLocale, confirmScreen(v, confirmation{
			title: deleteLocaleOf(code), text: deleteLocaleText, button: deleteLocaleOf(code), action: self, do: "deleteConfirmed", back: self, ids: []string{code},
		}))
	case "deleteConfirmed":
		code = v.PostFormValue("id")
		answer, message = v.send(http.MethodDelete, at(code, ""), nil), localeDeleted(code)
	case "restore":
		answer, message = v.send(http.MethodPost, at(v.PostFormValue("id"), "/restore"), nil), localeRestored(code)
	default:
		return &problem{Status: http.StatusBadRequest, Message: badForm}
	}
	if p := answer.problem(); p != nil {
		return p
	}
	return v.done(self, message)
}

// orNil is null for an empty text.
func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// localePlace is where visitors find the pages of a locale.
func localePlace(s *site, l locale) string {
	origin, prefix := s.HostOrigin, deref(l.PathPrefix)
	if l.Domain != nil {
		origin = l.Domain
	} else if l.PathPrefix == nil && !l.IsDefault {
		prefix = l.Locale
	}
	if origin == nil {
		return "/" + prefix
	}
	return strings.TrimSuffix(*origin+"/"+prefix, "/")
}

// routesView is what the screen Routes shows.
type routesView struct {
	routes  []route
	next    string
	edit    string
	typed   string
	problem *problem
}

func showRoutes(v *visit) error {
	w := routesView{edit: v.URL.Query().Get("edit")}
	if v.Method == http.MethodPost {
		return writeRoute(v, w)
	}
	return v.showRoutes(http.StatusOK, w)
}

func (v *visit) showRoutes(status int, w routesView) error {
	found, err := read[list[route]](v.get("/v2/routes", "siteId", v.site.ID, "limit", rowsShown, "startingAfter", v.URL.Query().Get("after")))
	if err != nil {
		return err
	}
	w.routes = found.Data
	if found.HasMore {
		w.next = at(sitePath(v.site.ID, "/routes"), "after", w.routes[len(w.routes)-1].ID)
	}
	for _, r := range w.routes {
		if r.ID == w.edit && w.problem == nil {
			w.typed = r.Pathname
		}
	}
	return v.show(status, navRoutes, routesScreen(v, w))
}

func writeRoute(v *visit, w routesView) error {
	self, id := sitePath(v.site.ID, "/routes"), v.PostFormValue("id")
	skip := ""
	if v.PostFormValue("skipValidation") != "" {
		skip = "true"
	}
	var answer Answer
	var message string
	switch v.PostFormValue("do") {
	case "save":
		w.typed = v.PostFormValue("pathname")
		if w.edit == "" {
			answer = v.send(http.MethodPost, at("/v2/routes", "skipValidation", skip), map[string]any{"siteId": v.site.ID, "pathname": w.typed})
		} else {
			answer = v.send(http.MethodPatch, at("/v2/routes/"+pathValue(w.edit), "skipValidation", skip), map[string]any{"pathname": w.typed})
		}
		message = routeSaved(w.typed)
		if p := answer.problem(); p != nil && (p.Status == http.StatusBadRequest || p.Status == http.StatusConflict) {
			w.problem = p
			return v.showRoutes(p.Status, w)
		}
	case "delete":
		answer, message = v.send(http.MethodDelete, "/v2/routes/"+pathValue(id), nil), routeDeleted
	default:
		return &problem{Status: http.StatusBadRequest, Message: badForm}
	}
	if p := answer.problem(); p != nil {
		return p
	}
	return v.done(self, message)
}
