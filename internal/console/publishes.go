package console

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

func publishPath(id, rest string) string { return "/console/publishes/" + id + rest }

const (
	scheduledPath = "/console/scheduled"
	publishTypes  = "publish.scheduled,publish.published,publish.failed,publish.canceled"
)

// publishes are the newest of the site.
func (v *visit) publishes(limit string) ([]publish, error) {
	found, err := read[list[publish]](v.get("/v2/sites/"+v.site.ID+"/publishes", "limit", limit))
	return found.Data, err
}

// failedSince counts the publishes that failed after the last one went live.
func failedSince(publishes []publish, last *publish) int {
	n := 0
	for _, p := range publishes {
		if p.Status == "failed" && (last == nil || deref(p.PublishAt) > deref(last.PublishedAt)) {
			n++
		}
	}
	return n
}

// publishList is what the screen Publishes shows.
type publishList struct {
	rows []publish
	live string // the id of what is live
	next string
}

// showPublishes is the handler of the history of a site.
func showPublishes(v *visit) error {
	found, err := read[list[publish]](v.get("/v2/sites/"+v.site.ID+"/publishes", "limit", "50", "startingAfter", v.URL.Query().Get("after")))
	if err != nil {
		return err
	}
	l := publishList{rows: found.Data}
	if summary, err := read[siteSummary](v.get("/v2/sites/" + v.site.ID + "/summary")); err == nil && summary.LastPublish != nil {
		l.live = summary.LastPublish.ID
	}
	if found.HasMore {
		l.next = at(sitePath(v.site.ID, "/publishes"), "after", l.rows[len(l.rows)-1].ID)
	}
	return v.show(http.StatusOK, navPublishes, publishesScreen(v, l))
}

// publishView is a publish with its changes.
type publishView struct {
	publish
	cards  []changeCard
	next   string
	isLive bool
}

// showPublish is the handler of a publish, and of its cancellation.
func showPublish(v *visit) error {
	p, err := readPublish(v)
	if err != nil {
		return err
	}
	if v.Method == http.MethodPost {
		return cancelPublish(v, p)
	}
	w := publishView{publish: p}
	found, err := read[list[change]](v.get("/v2/publishes/"+p.ID+"/changes", "limit", "100", "startingAfter", v.URL.Query().Get("after")))
	if err != nil {
		return err
	}
	w.cards = makeCards(found.Data)
	if found.HasMore {
		w.next = at(publishPath(p.ID, ""), "after", found.Data[len(found.Data)-1].ID)
	}
	if summary, err := read[siteSummary](v.get("/v2/sites/" + p.SiteID + "/summary")); err == nil && summary.LastPublish != nil {
		w.isLive = summary.LastPublish.ID == p.ID
	}
	return v.show(http.StatusOK, publishName(p), publishScreen(v, w))
}

// readPublish reads the publish of the address, and its site.
func readPublish(v *visit) (publish, error) {
	p, err := read[publish](v.get("/v2/publishes/" + pathValue(v.PathValue("publish"))))
	if err != nil {
		return p, v.hidden(err, publishNotFound)
	}
	return p, v.enter(p.SiteID)
}

func cancelPublish(v *visit, p publish) error {
	if v.PostFormValue("do") != "cancel" {
		return &problem{Status: http.StatusBadRequest, Message: badForm}
	}
	if p := v.send(http.MethodDelete, "/v2/publishes/"+p.ID, nil).problem(); p != nil {
		return p
	}
	back := v.PostFormValue("back")
	if !isOwn(back) {
		back = sitePath(p.SiteID, "/scheduled")
	}
	return v.done(back, publishCanceled)
}

// restoreView is what going back to a publish changes.
type restoreView struct {
	publish
	cards     []changeCard
	publishes int // that came after it
	isTooLong bool
}

// Bounds of the comparison of a publish with what is live.
const (
	maxRestoreSteps   = 100
	maxRestoreChanges = 5000
)

// restorePublish is the handler of going back to a publish: the difference first.
func restorePublish(v *visit) error {
	p, err := readPublish(v)
	if err != nil {
		return err
	}
	if v.Method == http.MethodPost {
		made, err := read[publish](v.send(http.MethodPost, "/v2/publishes/"+p.ID+"/restore", nil))
		switch {
		case err != nil:
			return err
		case made.ID == "":
			return v.done(publishPath(p.ID, ""), alreadyLive)
		}
		return v.done(publishPath(made.ID, ""), publishRestored(publishName(p)))
	}
	w := restoreView{publish: p}
	if err := w.compare(v); err != nil {
		return err
	}
	return v.show(http.StatusOK, restoreTitle, restoreScreen(v, w))
}

// compare takes back, one by one, the publishes that went live after this one. All that
// changes what is live is a publish, so what remains is the whole difference.
func (w *restoreView) compare(v *visit) error {
	summary, err := read[siteSummary](v.get("/v2/sites/" + w.SiteID + "/summary"))
	if err != nil || summary.LastPublish == nil {
		return err
	}
	undone := map[string]change{}
	step, read := *summary.LastPublish, 0
	for step.ID != w.ID {
		n, err := undo(v, step.ID, undone)
		if err != nil {
			return err
		}
		if read, w.publishes = read+n, w.publishes+1; w.publishes >= maxRestoreSteps || read > maxRestoreChanges || step.PreviousID == nil {
			w.isTooLong = true
			return nil
		}
		if step, err = readOne(v, *step.PreviousID); err != nil {
			return err
		}
	}
	w.cards = makeCards(differences(undone))
	return nil
}

func readOne(v *visit, id string) (publish, error) {
	return read[publish](v.get("/v2/publishes/" + id))
}

// undo adds the reverse of the changes of a publish to those of the later ones.
func undo(v *visit, id string, undone map[string]change) (n int, err error) {
	after := ""
	for {
		found, err := read[list[change]](v.get("/v2/publishes/"+id+"/changes", "limit", "100", "startingAfter", after))
		if err != nil {
			return n, err
		}
		for _, c := range found.Data {
			known, ok := undone[c.ID]
			if !ok {
				known = change{ID: c.ID, PageID: c.PageID, RedirectID: c.RedirectID, Locale: c.Locale}
			}
			known.Pathname = c.Pathname
			if c.PreviousPathname != nil {
				known.Pathname = *c.PreviousPathname
			}
			known.Kind = reverseKind(c.Kind)
			for _, f := range c.Fields {
				i := slices.IndexFunc(known.Fields, func(k fieldChange) bool { return k.Field == f.Field })
				if i < 0 {
					known.Fields, i = append(known.Fields, fieldChange{Field: f.Field, From: f.To}), len(known.Fields)
				}
				known.Fields[i].To = f.From
			}
			undone[c.ID], after = known, c.ID
		}
		if n += len(found.Data); !found.HasMore {
			return n, nil
		}
	}
}

// differences are the changes that have an effect, by page.
func differences(undone map[string]change) []change {
	var changes []change
	for _, c := range undone {
		c.Fields = slices.DeleteFunc(c.Fields, func(f fieldChange) bool { return reflect.DeepEqual(f.From, f.To) })
		if len(c.Fields) > 0 {
			changes = append(changes, c)
		}
	}
	slices.SortFunc(changes, func(a, b change) int {
		return strings.Compare(deref(a.PageID)+deref(a.RedirectID)+deref(a.Locale), deref(b.PageID)+deref(b.RedirectID)+deref(b.Locale))
	})
	return changes
}

var reverseKinds = map[string]string{
	"created": "deleted", "deleted": "created", "takenOffline": "takenOnline", "takenOnline": "takenOffline",
	"redirectCreated": "redirectDeleted", "redirectDeleted": "redirectCreated",
}

func reverseKind(kind string) string { return orElse(reverseKinds[kind], kind) }

// scheduledList is what the screen Scheduled shows, of a site or of all.
type scheduledList struct {
	next, failed, done []publish
	names              map[string]string // of the sites
}

// showScheduled is the handler of what is to be published.
func showScheduled(v *visit) error {
	l := scheduledList{names: map[string]string{}}
	after := ""
	for range maxWalk {
		found, err := read[list[publish]](v.get("/v2/publishes", "status", "scheduled", "limit", "100", "startingAfter", after))
		if err != nil {
			return err
		}
		for _, p := range found.Data {
			if after = p.ID; v.site == nil || p.SiteID == v.site.ID {
				l.next = append(l.next, p)
			}
		}
		if !found.HasMore {
			break
		}
	}
	slices.SortFunc(l.next, func(a, b publish) int { return strings.Compare(deref(a.PublishAt), deref(b.PublishAt)) })
	if v.site != nil {
		recent, err := v.publishes("50")
		if err != nil {
			return err
		}
		for _, p := range recent {
			switch {
			case p.Status == "failed":
				l.failed = append(l.failed, p)
			case p.Status == "published" && p.PublishAt != nil && len(l.done) < 10:
				l.done = append(l.done, p)
			}
		}
	} else {
		for _, p := range l.next {
			l.names[p.SiteID] = p.SiteID
		}
		for id := range maps.Keys(l.names) {
			if s, err := read[site](v.get("/v2/sites/" + id)); err == nil {
				l.names[id] = s.Name
			}
		}
	}
	return v.show(http.StatusOK, navScheduled, scheduledScreen(v, l))
}
