package console

import (
	"fmt"
	"net/http"
	"slices"
)

// publishesView is what the screens Publishes and Scheduled show.
type publishesView struct {
	publishes []publish
	sites     map[string]string // names by id, where there are several
	next      string
}

func showPublishes(v *visit) error {
	found, err := read[list[publish]](v.get("/v2/sites/"+v.site.ID+"/publishes", "limit", rowsShown, "startingAfter", v.URL.Query().Get("after")))
	if err != nil {
		return err
	}
	w := publishesView{publishes: found.Data}
	if found.HasMore {
		w.next = at(sitePath(v.site.ID, "/publishes"), "after", found.Data[len(found.Data)-1].ID)
	}
	return v.show(http.StatusOK, navPublishes, publishesScreen(v, w))
}

// showScheduled shows what is scheduled, of a site or of all, next first, and of a site what
// failed.
func showScheduled(v *visit) error {
	if v.Method == http.MethodPost {
		if p := v.send(http.MethodDelete, "/v2/publishes/"+pathValue(v.PostFormValue("id")), nil).problem(); p != nil {
			return p
		}
		return v.done(v.URL.RequestURI(), scheduleCanceled)
	}
	scheduled, err := read[list[publish]](v.get("/v2/publishes", "status", "scheduled", "limit", rowsShown))
	if err != nil {
		return err
	}
	w := publishesView{sites: map[string]string{}}
	for _, p := range scheduled.Data {
		if v.site == nil || p.SiteID == v.site.ID {
			w.publishes = append(w.publishes, p)
		}
	}
	slices.SortStableFunc(w.publishes, func(a, b publish) int { return compareText(deref(a.PublishAt), deref(b.PublishAt)) })
	if v.site != nil {
		w.publishes = append(w.publishes, v.failed()...)
	} else {
		for _, p := range w.publishes {
			if s, err := read[site](v.get("/v2/sites/" + p.SiteID)); err == nil {
				w.sites[p.SiteID] = s.Name
			}
		}
	}
	return v.show(http.StatusOK, navScheduled, scheduledScreen(v, w))
}

// failed are the scheduled publishes that failed since something last went live.
func (v *visit) failed() []publish {
	found, err := read[list[publish]](v.get("/v2/sites/"+v.site.ID+"/publishes", "limit", "20"))
	if err != nil {
		return nil
	}
	var failed []publish
	for _, p := range found.Data {
		if p.Status == "published" {
			break
		}
		if p.Status == "failed" {
			failed = append(failed, p)
		}
	}
	return failed
}

// publishView is a publish with its changes, or what restoring it would change.
type publishView struct {
	publish
	cards     []changeCard
	next      string
	isRestore bool
	isCut     bool // there is more than is shown
}

// readPublish reads the publish of the address, and its site.
func (v *visit) readPublish() (publish, error) {
	p, err := read[publish](v.get("/v2/publishes/" + pathValue(v.PathValue("publish"))))
	if err != nil {
		return p, err
	}
	s, err := read[site](v.get("/v2/sites/" + p.SiteID))
	v.site = &s
	return p, err
}

func showPublish(v *visit) error {
	p, err := v.readPublish()
	if err != nil {
		return err
	}
	w := publishView{publish: p}
	if v.Method == http.MethodPost {
		return writePublish(v, w)
	}
	if p.Status == "published" {
		found, err := read[list[change]](v.get("/v2/publishes/"+p.ID+"/changes", "limit", rowsShown, "startingAfter", v.URL.Query().Get("after")))
		if err != nil {
			return err
		}
		var cards reviewView
		for _, c := range found.Data {
			cards.add(c)
		}
		w.cards = cards.cards
		if found.HasMore {
			w.next = at("/console/publishes/"+p.ID, "after", found.Data[len(found.Data)-1].ID)
		}
	}
	return v.show(http.StatusOK, publishName(p), publishScreen(v, w))
}

func writePublish(v *visit, w publishView) error {
	self := "/console/publishes/" + w.ID
	switch v.PostFormValue("do") {
	case "restore":
		w.isRestore = true
		if err := w.readDifference(v); err != nil {
			return err
		}
		return v.show(http.StatusOK, goLiveAgain, publishScreen(v, w))
	case "restoreConfirmed":
		made, err := read[publish](v.send(http.MethodPost, "/v2/publishes/"+w.ID+"/restore", nil))
		if err != nil {
			return err
		}
		if made.ID == "" {
			return v.done(self, alreadyLive)
		}
		return v.done("/console/publishes/"+made.ID, restoredDone)
	case "cancel":
		if p := v.send(http.MethodDelete, "/v2/publishes/"+w.ID, nil).problem(); p != nil {
			return p
		}
		return v.done(self, scheduleCanceled)
	}
	return &problem{Status: http.StatusBadRequest, Message: badForm}
}

// Bounds of the difference that is shown before an old version goes live again.
const (
	maxLaterPublishes = 50
	maxDifferences    = 100
)

// readDifference compares what is live with what a publish left, for what later publishes
// changed.
func (w *publishView) readDifference(v *visit) error {
	later, err := read[list[publish]](v.get("/v2/sites/"+w.SiteID+"/publishes", "limit", rowsShown))
	if err != nil {
		return err
	}
	type place struct{ page, locale string }
	seen := map[place]bool{}
	var places []place
	for i, p := range later.Data {
		if p.ID == w.ID {
			break
		}
		if w.isCut = w.isCut || i >= maxLaterPublishes; p.Status != "published" || w.isCut {
			continue
		}
		changed, err := read[list[change]](v.get("/v2/publishes/"+p.ID+"/changes", "limit", rowsShown))
		if err != nil {
			return err
		}
		w.isCut = w.isCut || changed.HasMore
		for _, c := range changed.Data {
			at := place{deref(c.PageID), deref(c.Locale)}
			if at.page != "" && !seen[at] {
				seen[at], places = true, append(places, at)
			}
		}
	}
	var cards reviewView
	for i, at := range places {
		if w.isCut = w.isCut || i >= maxDifferences; i >= maxDifferences {
			break
		}
		if c, differs := v.difference(at.page, at.locale, "ref:live", "publish:"+w.ID); differs {
			cards.add(c)
		}
	}
	w.cards = cards.cards
	return nil
}

// difference compares a page in two versions.
func (v *visit) difference(id, locale, from, to string) (change, bool) {
	path := "/v6/pages/" + pathValue(id)
	before, beforeErr := read[page](v.get(path, "locale", locale, "versionRef", from))
	after, afterErr := read[page](v.get(path, "locale", locale, "versionRef", to))
	c := change{ID: id + locale, PageID: &id, Locale: &locale, Kind: "updated", Pathname: after.Pathname}
	switch {
	case beforeErr != nil && afterErr != nil:
		return c, false
	case beforeErr != nil:
		c.Kind = "created"
	case afterErr != nil:
		c.Kind, c.Pathname = "deleted", before.Pathname
	case before.Pathname != after.Pathname:
		c.Kind = "pathChanged"
	}
	for _, k := range fieldKinds {
		f := fieldChange{Field: k.name}
		if beforeErr == nil {
			f.From = nilText(k.name, before)
		}
		if afterErr == nil {
			f.To = nilText(k.name, after)
		}
		if fmt.Sprint(f.From) != fmt.Sprint(f.To) {
			c.Fields = append(c.Fields, f)
		}
	}
	return c, len(c.Fields) > 0
}

// nilText is the value of a field as people read it, or nil if it has none.
func nilText(field string, p page) any {
	text := p.text(field)
	if text == "" {
		return nil
	}
	return shownValue(field, text)
}

// streamEvents sends the events of a site to a script as they happen.
func streamEvents(v *visit) error {
	v.c.api.Stream(v.w, v.Request, v.token, Request{Method: http.MethodGet, Address: at("/v2/events/stream", "siteId", v.site.ID)})
	return nil
}
