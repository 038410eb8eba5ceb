package console

import (
	"fmt"
	"hash/crc32"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// change is the difference that a publish makes to a page or redirect in one locale.
type change struct {
	ID                 string
	PageID, RedirectID *string
	Locale             *string
	Kind, Pathname     string
	PreviousPathname   *string
	Fields             []fieldChange
}

type fieldChange struct {
	Field    string
	From, To any
}

// seen identifies a change with its values, so that later ones can be told from it.
func (c change) seen() string {
	return c.ID + ":" + strconv.FormatUint(uint64(crc32.ChecksumIEEE(fmt.Append(nil, c.Kind, c.Fields))), 36)
}

// valueText is a value of a change as people read it.
func valueText(field string, value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case bool:
		if field == "isAutomatic" {
			return yesNo(value)
		}
		return shownValue(field, boolText(value))
	}
	return fmt.Sprint(value)
}

// changes is a list of changes with the plan and summary of the whole.
type changes struct {
	list[change]
	Plan    string
	Summary struct {
		Total            int
		ByKind, ByLocale map[string]int
	}
}

// dryRun is what a publish would do.
type dryRun struct {
	ChangeCount int
	Clashes     []struct {
		Pathname, Locale string
		PageIDs          []string
	}
	Guard struct {
		Share         float64
		Pages         int
		ConfirmNeeded bool
	}
	RedirectsCreated int
}

// changeCard is what changes of one page or redirect.
type changeCard struct {
	id         string
	isRedirect bool
	pathname   string
	kind       string
	changes    []change
	isNew      bool // came since the review was opened
}

// reviewView is what the screen Review shows.
type reviewView struct {
	site         string
	kind, locale string
	pages        []string // the selection that it is of; nil: everything
	plan         string   // of everything
	bound        string   // the plan that an approval is bound to
	all          changes
	cards        []changeCard
	next         string
	check        dryRun
	last         *publish
	isMoved      bool
	problem      *problem
	name, when   string
	publishAt    string
	meaning      string
}

func (w reviewView) address() string {
	return at(sitePath(w.site, "/review"), "kind", w.kind, "locale", w.locale, "pages", joinIDs(w.pages))
}

func (w reviewView) withKind(kind string) string   { w.kind = kind; return w.address() }
func (w reviewView) withLocale(code string) string { w.locale = code; return w.address() }

// selection is the part of the draft that the review is of.
func (w reviewView) selection() map[string]any {
	body := map[string]any{}
	if w.locale != "" {
		body["locales"] = []string{w.locale}
	}
	if w.pages != nil {
		body["pageIds"] = w.pages
	}
	return body
}

func showReview(v *visit) error {
	q := v.URL.Query()
	w := reviewView{site: v.site.ID, kind: q.Get("kind"), locale: q.Get("locale"), bound: v.PathValue("plan"), meaning: "plan"}
	if ids := q.Get("pages"); ids != "" {
		w.pages = strings.Split(ids, ",")
	}
	if v.Method == http.MethodPost {
		return publishReviewed(v, w)
	}
	return v.showReview(http.StatusOK, w, nil)
}

// showReview reads and shows the changes. Those that are not among the ones that were seen are
// marked.
func (v *visit) showReview(status int, w reviewView, seen []string) error {
	if err := w.read(v, v.URL.Query().Get("after")); err != nil {
		return err
	}
	w.isMoved = w.isMoved || (w.bound != "" && w.bound != w.plan)
	if seen != nil {
		for i, card := range w.cards {
			w.cards[i].isNew = slices.ContainsFunc(card.changes, func(c change) bool { return !slices.Contains(seen, c.seen()) })
		}
	}
	return v.show(status, navReview, reviewScreen(v, w))
}

// walked is how many pages of changes are read for a filter that REST does not have.
const walked = 20

func (w *reviewView) read(v *visit, after string) error {
	path := "/v2/sites/" + v.site.ID + "/changes"
	for i := 0; ; i++ {
		page, err := read[changes](v.get(path, "limit", rowsShown, "startingAfter", after, "locales", w.locale, "pageIds", joinIDs(w.pages)))
		if err != nil {
			return err
		}
		if i == 0 {
			w.all, w.plan = page, page.Plan
		}
		for _, c := range page.Data {
			if w.kind == "" || c.Kind == w.kind {
				w.add(c)
			}
			after = c.ID
		}
		enough := w.kind == "" || len(w.cards) >= 100 || i >= walked
		if !page.HasMore {
			break
		}
		if enough {
			w.next = at(sitePath(v.site.ID, "/review"), "kind", w.kind, "locale", w.locale, "pages", joinIDs(w.pages), "after", after)
			break
		}
	}
	if w.locale != "" || w.pages != nil {
		whole, err := read[changes](v.get(path, "limit", "1"))
		if err != nil {
			return err
		}
		w.plan = whole.Plan
		w.all.Summary = whole.Summary
	}
	body := w.selection()
	body["dryRun"] = true
	check, err := read[dryRun](v.send(http.MethodPost, "/v2/sites/"+v.site.ID+"/publish", body))
	if err != nil {
		return err
	}
	w.check = check
	if summary, err := read[siteSummary](v.get("/v2/sites/" + v.site.ID + "/summary")); err == nil {
		w.last = summary.LastPublish
	}
	return nil
}

// add puts a change on the card of its page.
func (w *reviewView) add(c change) {
	id, isRedirect := deref(c.PageID), false
	if id == "" {
		id, isRedirect = deref(c.RedirectID), true
	}
	i := slices.IndexFunc(w.cards, func(card changeCard) bool { return card.id == id })
	if i < 0 {
		i = len(w.cards)
		w.cards = append(w.cards, changeCard{id: id, isRedirect: isRedirect, pathname: c.Pathname, kind: c.Kind})
	}
	w.cards[i].changes = append(w.cards[i].changes, c)
}

// publishReviewed publishes what was reviewed: the selection of the address, or the cards
// that are selected.
func publishReviewed(v *visit, w reviewView) error {
	form := v.PostForm
	w.name, w.when, w.publishAt, w.meaning = form.Get("name"), form.Get("when"), form.Get("publishAt"), orElse(form.Get("meaning"), "plan")
	body := w.selection()
	if form.Get("do") == "selected" {
		if len(form["id"])+len(form["redirect"]) == 0 {
			return v.done(w.address(), nothingSelected)
		}
		setList(body, "pageIds", form["id"])
		setList(body, "redirectIds", form["redirect"])
	}
	if w.name != "" {
		body["name"] = w.name
	}
	plan := orElse(w.bound, form.Get("plan"))
	if w.when == "later" {
		body["publishAt"] = localTime(w.publishAt, form.Get("zone"))
		if w.meaning != "plan" {
			plan = ""
		}
	}
	if plan != "" {
		body["plan"] = plan
	}
	if n, err := strconv.Atoi(strings.TrimSpace(form.Get("confirm"))); err == nil && strconv.Itoa(n) == form.Get("away") {
		body["confirm"] = true
	}
	made, err := read[publish](v.send(http.MethodPost, "/v2/sites/"+v.site.ID+"/publish", body))
	if p := problemOf(err); p != nil && (p.Status == http.StatusConflict || p.Status == http.StatusBadRequest) {
		w.problem = p
		w.isMoved = p.Status == http.StatusConflict && strings.Contains(p.Message, "plan")
		return v.showReview(p.Status, w, strings.Fields(form.Get("seen")))
	}
	switch {
	case err != nil:
		return err
	case made.ID == "":
		return v.done(w.address(), nothingToPublish)
	case made.Status == "scheduled":
		return v.done(sitePath(v.site.ID, "/scheduled"), scheduledDone)
	}
	return v.done(sitePath(v.site.ID, "/review"), publishedCount(made.ChangeCount), "/console/publishes/"+made.ID, lookAtIt)
}

func setList(body map[string]any, name string, ids []string) {
	if delete(body, name); len(ids) > 0 {
		body[name] = ids
	}
}

// localTime is the time of a field that has no zone, in the zone of the browser: minutes
// behind UTC. One that is malformed is sent as it is, for REST to refuse.
func localTime(text, zone string) string {
	minutes, err := strconv.Atoi(zone)
	if err != nil {
		minutes = 0
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return rfc3339(t.Add(time.Duration(minutes) * time.Minute))
		}
	}
	return text
}

// kinds are the kinds of changes, in the order of the filter.
var kinds = []string{"updated", "created", "pathChanged", "deleted", "takenOffline", "takenOnline", "redirectCreated", "redirectUpdated", "redirectDeleted"}

// kindIcon and kindClass show a kind of change.
func kindIcon(kind string) string {
	switch kind {
	case "created", "redirectCreated":
		return "plus"
	case "pathChanged":
		return "arrow-right"
	case "deleted", "redirectDeleted":
		return "trash-2"
	case "takenOffline":
		return "power-off"
	case "takenOnline":
		return "power"
	}
	return "pencil"
}

func kindClass(kind string) string {
	switch kind {
	case "created", "redirectCreated", "takenOnline":
		return "k-new"
	case "pathChanged":
		return "k-moved"
	case "deleted", "redirectDeleted":
		return "k-gone"
	case "takenOffline":
		return "k-off"
	}
	return "k-edit"
}

// seenList is what the review shows, for telling what came later.
func (w reviewView) seenList() string {
	var ids []string
	for _, card := range w.cards {
		for _, c := range card.changes {
			ids = append(ids, c.seen())
		}
	}
	return strings.Join(ids, " ")
}

// countChanges is how many changes the button publishes.
func (w reviewView) countChanges() int { return w.check.ChangeCount }

// moved is how many live addresses change.
func (w reviewView) moved() int { return w.all.Summary.ByKind["pathChanged"] }

// blocked reports whether publishing would be refused.
func (w reviewView) blocked() bool { return len(w.check.Clashes) > 0 || w.countChanges() == 0 }
