package console

import (
	"encoding/csv"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reviewQuery is what the address of the screen Review says.
type reviewQuery struct {
	site                string
	kind, locale, under string // filters of what is shown
	view                string // sides: old and new beside each other
	pages, redirects    string // ids with commas: a part of the draft
	after               string
	plan                string // that was sent for approval
	at                  string // since when changes are marked
}

func readReviewQuery(v *visit) reviewQuery {
	q := v.URL.Query()
	return reviewQuery{
		site: v.site.ID, kind: q.Get("kind"), locale: q.Get("locale"), under: q.Get("under"), view: q.Get("view"), pages: q.Get("pages"),
		redirects: q.Get("redirects"), after: q.Get("after"), plan: v.PathValue("plan"), at: q.Get("at"),
	}
}

func (q reviewQuery) address() string {
	path := sitePath(q.site, "/review")
	if q.plan != "" {
		path += "/" + q.plan
	}
	return at(path, "kind", q.kind, "locale", q.locale, "under", q.under, "view", q.view, "pages", q.pages, "redirects", q.redirects, "after", q.after, "at", q.at)
}

// Each of these is the query with something else.

func (q reviewQuery) withKind(kind string) reviewQuery    { q.kind, q.after = kind, ""; return q }
func (q reviewQuery) withLocale(code string) reviewQuery  { q.locale, q.after = code, ""; return q }
func (q reviewQuery) withUnder(path string) reviewQuery   { q.under, q.after = path, ""; return q }
func (q reviewQuery) withView(view string) reviewQuery    { q.view = view; return q }
func (q reviewQuery) withAfter(cursor string) reviewQuery { q.after = cursor; return q }
func (q reviewQuery) withPlan(plan, at string) reviewQuery {
	q.plan, q.at, q.after = plan, at, ""
	return q
}

// isPart reports whether only a part of the draft is reviewed.
func (q reviewQuery) isPart() bool { return q.pages != "" || q.redirects != "" }

// selection adds the part of the draft to the body of a publish.
func (q reviewQuery) selection(body map[string]any) map[string]any {
	if q.pages != "" {
		body["pageIds"] = strings.Split(q.pages, ",")
	}
	if q.redirects != "" {
		body["redirectIds"] = strings.Split(q.redirects, ",")
	}
	return body
}

// dryRun is what a publish would do.
type dryRun struct {
	ChangeCount int
	Plan        string
	Summary     struct {
		Total            int
		ByKind, ByLocale map[string]int
	}
	Clashes []struct {
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

// livePages is how many pages are live, as far as it matters to the guard.
func (d dryRun) livePages() int {
	if d.Guard.Share == 0 {
		return 0
	}
	return int(math.Round(float64(d.Guard.Pages) / d.Guard.Share))
}

// reviewForm is what was typed into the form that publishes.
type reviewForm struct {
	name, when, at, exact, typed string
	problem                      *problem
	wrongTyped                   string
	moved                        bool // the draft is not what was reviewed
}

// reviewView is what the screen Review shows.
type reviewView struct {
	reviewQuery
	dry       dryRun
	locales   []locale
	cards     []changeCard
	folders   []facet // nil: there are too many changes to count them
	pageCount int     // 0: not counted
	next      string
	readAt    string
	last      *publish
	clashes   []clash
	since     map[string]string // what was edited since the review, by id: its pathname
	elsewhere []string          // pathnames edited since that are not different any more
	form      reviewForm
	asOfPlan  bool // the draft is still what the plan of the address says
}

type facet struct {
	name  string
	count int
}

// clash is a pathname that several pages would have.
type clash struct {
	pathname, locale string
	pages            []page
}

// Bounds of a review: a small one is read whole, of a large one a screen at a time.
const (
	smallReview  = 1000
	cardsShown   = 50
	maxWalk      = 20
	manyClashes  = 20
	maxEventWalk = 10
)

// showReview is the handler of the review of a draft, and of the publish of what was
// reviewed.
func showReview(v *visit) error {
	q := readReviewQuery(v)
	if v.Method == http.MethodPost {
		return publishReview(v, q)
	}
	shown, err := readReview(v, q)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, navReview, reviewScreen(v, *shown))
}

// readReview reads the plan before the changes: what is published is never more than
// what is shown.
func readReview(v *visit, q reviewQuery) (*reviewView, error) {
	s := &reviewView{reviewQuery: q, readAt: clock(), form: reviewForm{when: "now", exact: "plan"}}
	var err error
	if s.dry, err = read[dryRun](v.send(http.MethodPost, "/v2/sites/"+v.site.ID+"/publish", q.selection(map[string]any{"dryRun": true}))); err != nil {
		return nil, err
	}
	s.asOfPlan = q.plan == s.dry.Plan
	if s.locales, err = v.locales(); err != nil {
		return nil, err
	}
	if s.dry.Summary.Total <= smallReview {
		err = s.readSmall(v)
	} else {
		err = s.readLarge(v)
	}
	if err != nil {
		return nil, err
	}
	s.readClashes(v)
	if q.at != "" && !s.asOfPlan {
		s.readSince(v, q.at)
	}
	if publishes, err := v.publishes("20"); err == nil {
		for i := range publishes {
			if publishes[i].Status == "published" && (s.last == nil || deref(publishes[i].PublishedAt) > deref(s.last.PublishedAt)) {
				s.last = &publishes[i]
			}
		}
	}
	return s, nil
}

// readChanges reads a page of the list of changes.
func (s *reviewView) readChanges(v *visit, locales, after string) (list[change], error) {
	return read[list[change]](v.get("/v2/sites/"+v.site.ID+"/changes", "limit", "100", "pageIds", s.pages, "redirectIds", s.redirects,
		"locales", locales, "startingAfter", after))
}

// readSmall reads all changes and filters them here.
func (s *reviewView) readSmall(v *visit) error {
	var all []change
	after := ""
	for {
		found, err := s.readChanges(v, "", after)
		if err != nil {
			return err
		}
		all = append(all, found.Data...)
		if !found.HasMore || len(all) > smallReview {
			break
		}
		after = all[len(all)-1].ID
	}
	s.countFolders(all)
	skipping := s.after != ""
	var shown []change
	for _, c := range all {
		if !skipping && s.matches(v, c) {
			shown = append(shown, c)
		}
		skipping = skipping && c.ID != s.after
	}
	s.cards = makeCards(shown)
	if len(s.cards) > cardsShown {
		s.cards = s.cards[:cardsShown]
		s.next = s.withAfter(s.cards[cardsShown-1].lastID()).address()
	}
	return nil
}

// readLarge reads on from the place of the address until a screen is full.
func (s *reviewView) readLarge(v *visit) error {
	var shown []change
	after := s.after
	for range maxWalk {
		found, err := s.readChanges(v, s.locale, after)
		if err != nil {
			return err
		}
		for _, c := range found.Data {
			if s.matches(v, c) {
				shown = append(shown, c)
			}
		}
		if s.next = ""; !found.HasMore {
			break
		}
		after = found.Data[len(found.Data)-1].ID
		s.next = s.withAfter(after).address()
		if len(shown) >= cardsShown {
			break
		}
	}
	s.cards = makeCards(shown)
	return nil
}

// matches reports whether the filters show a change.
func (s *reviewView) matches(v *visit, c change) bool {
	code := v.site.DefaultLocale // a redirect of every locale counts there
	if c.Locale != nil {
		code = *c.Locale
	}
	return (s.kind == "" || c.Kind == s.kind) && (s.locale == "" || code == s.locale) && (s.under == "" || c.Pathname == s.under || strings.HasPrefix(c.Pathname, s.under+"/"))
}

// countFolders counts the changes below each first segment, and the pages.
func (s *reviewView) countFolders(all []change) {
	counts, seen := map[string]int{}, map[string]bool{}
	for _, c := range all {
		if rest := strings.TrimPrefix(c.Pathname, "/"); rest != "" {
			first, _, _ := strings.Cut(rest, "/")
			counts["/"+first]++
		}
		if c.PageID != nil {
			seen[*c.PageID] = true
		}
	}
	s.pageCount = len(seen)
	for name, n := range counts {
		s.folders = append(s.folders, facet{name, n})
	}
	slices.SortFunc(s.folders, func(a, b facet) int {
		if a.count != b.count {
			return b.count - a.count
		}
		return strings.Compare(a.name, b.name)
	})
	s.folders = s.folders[:min(len(s.folders), 12)]
}

// readClashes reads the pages that would have the same pathname.
func (s *reviewView) readClashes(v *visit) {
	for _, c := range s.dry.Clashes[:min(len(s.dry.Clashes), manyClashes)] {
		found := clash{pathname: c.Pathname, locale: c.Locale}
		for _, id := range c.PageIDs {
			p, err := read[page](v.get("/v6/pages/" + pathValue(id)))
			if err != nil {
				p, err = read[page](v.get("/v6/pages/"+pathValue(id), "versionRef", "ref:live"))
			}
			if err == nil {
				found.pages = append(found.pages, p)
			}
		}
		s.clashes = append(s.clashes, found)
	}
}

const editTypes = "page.created,page.updated,page.deleted,page.restored,page.discarded," +
	"redirect.created,redirect.updated,redirect.deleted,redirect.restored,redirect.discarded"

// readSince finds out what was edited since a time, by its events.
func (s *reviewView) readSince(v *visit, since string) {
	s.since = map[string]string{}
	after := ""
	for range maxEventWalk {
		found, err := read[list[event]](v.get("/v2/events", "siteId", v.site.ID, "types", editTypes, "since", since, "limit", "100", "startingAfter", after))
		if err != nil {
			return // the review does without
		}
		for _, e := range found.Data {
			thing := e.thing()
			s.since[thing.ID] = orElse(thing.Pathname, thing.Source)
			after = e.ID
		}
		if !found.HasMore {
			break
		}
	}
	for id, path := range s.since {
		if !slices.ContainsFunc(s.cards, func(c changeCard) bool { return c.id == id }) {
			s.elsewhere = append(s.elsewhere, path)
		}
	}
	slices.Sort(s.elsewhere)
	s.elsewhere = slices.Compact(s.elsewhere)
}

// publishReview publishes what was reviewed, all of it or what is selected, now or at a
// time. If it is refused, the review is shown again with the reason.
func publishReview(v *visit, q reviewQuery) error {
	switch v.PostFormValue("do") {
	case "publish":
	case "selected":
		if q = q.selected(v.PostForm["id"]); !q.isPart() {
			return v.done(q.address(), nothingSelected)
		}
	default:
		return &problem{Status: http.StatusBadRequest, Message: badForm}
	}
	form := reviewForm{name: v.PostFormValue("name"), when: v.PostFormValue("when"), at: v.PostFormValue("at"), exact: v.PostFormValue("exact"), typed: v.PostFormValue("typed")}
	body := q.selection(map[string]any{})
	if form.when != "later" || form.exact != "draft" {
		body["plan"] = v.PostFormValue("plan")
	}
	if form.name != "" {
		body["name"] = form.name
	}
	if form.when == "later" {
		body["publishAt"] = publishTime(orElse(v.PostFormValue("utc"), form.at))
	}
	if guard := v.PostFormValue("guard"); guard != "" && strings.ReplaceAll(strings.TrimSpace(form.typed), ",", "") == guard {
		body["confirm"] = true
	}
	made, err := read[publish](v.send(http.MethodPost, "/v2/sites/"+v.site.ID+"/publish", body))
	if p := problemOf(err); p != nil && (p.Status == http.StatusConflict || p.Status == http.StatusBadRequest) {
		return refusedReview(v, q, form, p)
	}
	back := sitePath(v.site.ID, "/review")
	switch {
	case err != nil:
		return err
	case made.ID == "":
		return v.done(back, nothingToPublish)
	case made.Status == "scheduled":
		return v.done(sitePath(v.site.ID, "/scheduled"), publishScheduled)
	}
	return v.done(back, changesPublished(made.ChangeCount), publishPath(made.ID, ""), seePublish)
}

// selected is the query for what is selected: p and the id of a page, or r and that of a
// redirect.
func (q reviewQuery) selected(ids []string) reviewQuery {
	var pages, redirects []string
	for _, id := range ids {
		if page, ok := strings.CutPrefix(id, "p"); ok {
			pages = append(pages, page)
		} else if redirect, ok := strings.CutPrefix(id, "r"); ok {
			redirects = append(redirects, redirect)
		}
	}
	q.pages, q.redirects, q.plan, q.after = joinIDs(pages), joinIDs(redirects), "", ""
	return q
}

// refusedReview shows the review as it is now, what was typed, and why nothing was
// published.
func refusedReview(v *visit, q reviewQuery, form reviewForm, p *problem) error {
	plan, readAt := v.PostFormValue("plan"), v.PostFormValue("readAt")
	q.after = ""
	s, err := readReview(v, q)
	if err != nil {
		return err
	}
	form.problem = p
	// A part of the draft is published by its own plan, or by that of everything.
	if all, err := read[dryRun](v.send(http.MethodPost, "/v2/sites/"+v.site.ID+"/publish", map[string]any{"dryRun": true})); err == nil {
		form.moved = p.Status == http.StatusConflict && plan != s.dry.Plan && plan != all.Plan
	}
	switch {
	case form.moved:
		form.problem = nil
		s.readSince(v, readAt)
	case p.Status == http.StatusConflict && s.dry.Guard.ConfirmNeeded:
		form.problem, form.wrongTyped = nil, typeTheNumber(s.dry.Guard.Pages)
	}
	s.form = form
	return v.show(p.Status, navReview, reviewScreen(v, *s))
}

// publishTime is the time that a form means, in UTC unless it says otherwise. One that is
// malformed is sent as it is, for REST to refuse.
func publishTime(text string) any {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC().Format("2006-01-02T15:04:05.000Z")
		}
	}
	return text
}

// downloadRedirects sends the pathnames that move, as CSV.
func downloadRedirects(v *visit) error {
	s := reviewView{reviewQuery: readReviewQuery(v)}
	var rows [][]string
	after := ""
	for {
		found, err := s.readChanges(v, "", after)
		if err != nil {
			return err
		}
		for _, c := range found.Data {
			if c.PreviousPathname != nil && c.PageID != nil {
				rows = append(rows, []string{deref(c.Locale), *c.PreviousPathname, c.Pathname, "308"})
			}
			after = c.ID
		}
		if !found.HasMore {
			break
		}
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="redirects.csv"`)
	out := csv.NewWriter(v.w)
	_ = out.Write([]string{"locale", "source", "target", "status"}) // it fails if the client has disconnected
	_ = out.WriteAll(rows)
	return nil
}

// mixPart is a part of the bar that shows what kinds of changes there are.
type mixPart struct{ class, x, width string }

// mix is the bar, 1,000 wide.
func (d dryRun) mix() (parts []mixPart) {
	x := 0.0
	for _, kind := range changeKinds {
		n := d.Summary.ByKind[kind.name]
		if n == 0 {
			continue
		}
		width := 1000 * float64(n) / float64(max(1, d.Summary.Total))
		parts = append(parts, mixPart{kind.class, strconv.FormatFloat(x, 'f', 1, 64), strconv.FormatFloat(max(4, width-6), 'f', 1, 64)})
		x += width
	}
	return parts
}

// canPublish says why the publish can't be made, or nothing.
func (s reviewView) canPublish(v *visit) string {
	switch {
	case !v.me.can("publish"):
		return needsScope("publish")
	case len(s.dry.Clashes) > 0:
		return clashesFirst
	case s.plan != "" && !s.asOfPlan:
		return planIsGone
	}
	return ""
}
