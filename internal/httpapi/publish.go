package httpapi

import (
	"time"

	"galley/internal/cms"
	"galley/internal/service"
)

// Publish is a change of a site's live version, or a scheduled one.
type Publish struct {
	Object        string            `json:"object" enum:"publish" doc:"Always publish."`
	ID            *cms.ID           `json:"id" doc:"Identifier of the publish; null when there was nothing to publish."`
	SiteID        cms.ID            `json:"siteId" doc:"The site that was published."`
	Name          *string           `json:"name" doc:"Name given to the publish." example:"Spring campaign"`
	Status        cms.PublishStatus `json:"status" doc:"Where the publish stands."`
	PublishAt     *timestamp        `json:"publishAt" doc:"When it was scheduled for."`
	PublishedAt   *timestamp        `json:"publishedAt" doc:"When it went live."`
	ChangeCount   int               `json:"changeCount" doc:"How many changes it made." example:"3"`
	PreviousID    *cms.ID           `json:"previousId" doc:"The publish that was live before."`
	RestoredFrom  *cms.ID           `json:"restoredFrom" doc:"The publish that this one went back to."`
	Reason        *string           `json:"reason" doc:"Why it failed."`
	CreatedAt     timestamp         `json:"createdAt" doc:"When it was asked for."`
	CreatedBy     cms.ID            `json:"createdBy" doc:"The app that asked for it."`
	CreatedByName *string           `json:"createdByName" doc:"The name of that app." example:"Importer"`
	Actor         *string           `json:"actor" doc:"The person for whom the app asked for it, as X-Actor named them." example:"ada@example.com"`
}

func newPublish(p cms.Publish) Publish {
	w := Publish{
		Object: "publish", SiteID: p.SiteID, Name: p.Name, Status: p.Status, PublishAt: newNullTimestamp(p.PublishAt),
		PublishedAt: newNullTimestamp(p.PublishedAt), ChangeCount: p.ChangeCount, PreviousID: p.PreviousID,
		RestoredFrom: p.RestoredFrom, Reason: p.Reason, CreatedAt: newTimestamp(p.CreatedAt), CreatedBy: p.CreatedBy,
		CreatedByName: nullText(p.CreatedName), Actor: nullText(p.Actor),
	}
	if p.ID != cms.NoID {
		w.ID = &p.ID
	}
	return w
}

// Change is the difference that a publish makes to a page in one locale.
type Change struct {
	Object           string         `json:"object" enum:"change" doc:"Always change."`
	ID               cms.ID         `json:"id" doc:"Identifier of the change: the same in every list."`
	PageID           *cms.ID        `json:"pageId" doc:"The page; null for a redirect."`
	RedirectID       *cms.ID        `json:"redirectId" doc:"The redirect; null for a page."`
	Locale           *string        `json:"locale" doc:"The locale: the default one for the page's own values; null for a redirect of every locale." example:"en-US"`
	Kind             cms.ChangeKind `json:"kind" doc:"What happens, the first that applies."`
	Pathname         string         `json:"pathname" doc:"The pathname in effect afterwards, or before for a deletion." example:"/about"`
	PreviousPathname *string        `json:"previousPathname" doc:"The pathname in effect before, where it changes." example:"/about-us"`
	Fields           []FieldChange  `json:"fields" doc:"Every stored value that differs."`
}

// FieldChange is a stored value that differs.
type FieldChange struct {
	Field string `json:"field" doc:"The field." example:"title"`
	From  any    `json:"from" doc:"The value before; null for none."`
	To    any    `json:"to" doc:"The value after; null for none."`
}

func newChange(c service.ChangeView) Change {
	w := Change{
		Object: "change", ID: c.ID(), PageID: nullID(c.PageID), RedirectID: nullID(c.RedirectID), Locale: nullText(c.Locale), Kind: c.Kind, Pathname: c.Pathname,
		PreviousPathname: c.PreviousPathname, Fields: make([]FieldChange, len(c.Fields)),
	}
	for i, f := range c.Fields {
		w.Fields[i] = FieldChange(f)
	}
	return w
}

// Review is a list of changes with the plan and summary of the whole list.
type Review struct {
	List[Change]
	Plan    string  `json:"plan" doc:"A hash of the whole list."`
	Summary Summary `json:"summary" doc:"How many changes the whole list has."`
}

// Summary counts the changes of a list.
type Summary struct {
	Total    int                    `json:"total" doc:"All changes." example:"3"`
	ByKind   map[cms.ChangeKind]int `json:"byKind" doc:"Changes of each kind that occurs."`
	ByLocale map[string]int         `json:"byLocale" doc:"Changes of each locale that has some, by code."`
}

// Selected are the fields of a body that select a part of the draft.
type Selected struct {
	PageIDs     cms.Opt[[]cms.ID] `json:"pageIds" nullable:"true" minItems:"1" maxItems:"1000" doc:"Only these pages; null means all, or none if there are redirectIds."`
	RedirectIDs cms.Opt[[]cms.ID] `json:"redirectIds" nullable:"true" minItems:"1" maxItems:"1000" doc:"Only these redirects; null means all, or none if there are pageIds."`
	Locales     cms.Opt[[]string] `json:"locales" minItems:"1" maxItems:"1000" doc:"Only the values of these locales, by code or id: the default locale's are the pages' own values, creations and deletions, and the redirects of every locale."`
}

// DiscardCreate is the body that discards the draft.
type DiscardCreate struct {
	Selected
	Confirm cms.Opt[bool] `json:"confirm" default:"false" doc:"Confirms that most pages of the draft are deleted."`
}

func (b DiscardCreate) domain(p *cms.Problems) cms.DiscardRequest {
	return clean(p, cms.DiscardRequest{SelectionRequest: cms.SelectionRequest(b.Selected), Confirm: b.Confirm})
}

// Discard counts what was discarded.
type Discard struct {
	Object    string `json:"object" enum:"discard" doc:"Always discard."`
	Pages     int    `json:"pages" doc:"How many pages' drafts it changed." example:"3"`
	Redirects int    `json:"redirects" doc:"How many redirects it changed." example:"0"`
}

// PublishCreate is the body that publishes.
type PublishCreate struct {
	Selected
	Plan      cms.Opt[string]     `json:"plan" doc:"The plan of the changes that were reviewed, of this selection or of everything: 409 when the draft has changed since."`
	Name      cms.Opt[*string]    `json:"name" minLength:"1" maxLength:"255" doc:"Name of the publish; not blank." example:"Spring campaign"`
	PublishAt cms.Opt[*time.Time] `json:"publishAt" doc:"When to publish the draft as it is then, in the future; now unless given." example:"2030-01-31T12:00:00.000Z"`
	Confirm   cms.Opt[bool]       `json:"confirm" default:"false" doc:"Confirms a publish that takes most of the live pages away."`
	DryRun    cms.Opt[bool]       `json:"dryRun" default:"false" doc:"Changes nothing, and returns 200 with a publishDryRun: what the publish would do. The scope read is enough for that."`
}

func (b PublishCreate) domain(p *cms.Problems) cms.PublishRequest {
	r := cms.PublishRequest{
		SelectionRequest: cms.SelectionRequest(b.Selected), Plan: b.Plan, Name: b.Name, PublishAt: b.PublishAt, Confirm: b.Confirm, DryRun: b.DryRun,
	}
	r.Clean(p, time.Now())
	return r
}

// PublishDryRun is what a publish would do.
type PublishDryRun struct {
	Object           string         `json:"object" enum:"publishDryRun" doc:"Always publishDryRun."`
	ChangeCount      int            `json:"changeCount" doc:"How many changes it would make." example:"3"`
	Plan             string         `json:"plan" doc:"A hash of all changes, which publish takes."`
	Summary          Summary        `json:"summary" doc:"How many changes of which kind."`
	Clashes          []PublishClash `json:"clashes" doc:"Pathnames for which the publish would be refused."`
	Guard            PublishGuard   `json:"guard" doc:"What it would take away from readers."`
	RedirectsCreated int            `json:"redirectsCreated" doc:"How many redirects it would create." example:"0"`
}

// PublishClash is a pathname that would belong to several pages or routes.
type PublishClash struct {
	Pathname string   `json:"pathname" doc:"The pathname." example:"/about"`
	Locale   string   `json:"locale" doc:"Locale code." example:"en-US"`
	PageIDs  []cms.ID `json:"pageIds" doc:"The pages."`
}

// PublishGuard is what a publish would take away from readers.
type PublishGuard struct {
	Share         float64 `json:"share" doc:"Share of the live pages that would go offline or be deleted." example:"0.1"`
	Pages         int     `json:"pages" doc:"How many pages these are." example:"2"`
	ConfirmNeeded bool    `json:"confirmNeeded" doc:"Whether the publish needs confirm: true." example:"false"`
}

func newPublishDryRun(d service.DryRun) PublishDryRun {
	w := PublishDryRun{
		Object: "publishDryRun", ChangeCount: d.Summary.Total, Plan: d.Plan, Summary: Summary(d.Summary),
		Clashes: make([]PublishClash, len(d.Clashes)), Guard: PublishGuard{d.Share, d.TakenAway, d.ConfirmNeeded}, RedirectsCreated: d.RedirectsCreated,
	}
	for i, c := range d.Clashes {
		w.Clashes[i] = PublishClash(c)
	}
	return w
}

// publishScope is the scope that a publish needs: a dry run only reads.
func publishScope(r *request) cms.Scope {
	if ask, err := input(r, PublishCreate.domain)(); err == nil && ask.DryRun.Value {
		return cms.ScopeRead
	}
	return r.endpoint.scope
}

// published is the response to a publish. One without an id created nothing.
func published(p cms.Publish) response {
	if p.ID == cms.NoID {
		return ok(newPublish(p))
	}
	return created("/v2/publishes/"+p.ID.String(), newPublish(p))
}

func (a *API) listChanges(r *request) (response, error) {
	review, err := a.svc.Changes(r.Context(), r.who, r.pathID, r.query.selection, r.query.list)
	return ok(Review{newList(review.List, newChange), review.Plan, Summary(review.Summary)}), err
}

func (a *API) discardSite(r *request) (response, error) {
	counts, err := a.svc.Discard(r.Context(), r.who, r.pathID, input(r, DiscardCreate.domain))
	return ok(Discard{"discard", counts.Pages, counts.Redirects}), err
}

func (a *API) publishSite(r *request) (response, error) {
	in := input(r, PublishCreate.domain)
	if ask, err := in(); err == nil && ask.DryRun.Value {
		dry, err := a.svc.DryRunPublish(r.Context(), r.who, r.pathID, in)
		return ok(newPublishDryRun(dry)), err
	}
	p, err := a.svc.Publish(r.Context(), r.who, r.pathID, in)
	return published(p), err
}

func (a *API) listPublishes(r *request) (response, error) {
	list, err := a.svc.Publishes(r.Context(), r.who, r.pathID, r.query.list)
	return ok(newList(list, newPublish)), err
}

func (a *API) listScheduled(r *request) (response, error) {
	list, err := a.svc.ScheduledPublishes(r.Context(), r.who, r.query.list)
	return ok(newList(list, newPublish)), err
}

func (a *API) getPublish(r *request) (response, error) {
	p, err := a.svc.GetPublish(r.Context(), r.who, r.pathID)
	return ok(newPublish(p)), err
}

func (a *API) cancelPublish(r *request) (response, error) {
	return noContent(), a.svc.CancelPublish(r.Context(), r.who, r.pathID, ifMatch(r, newPublish))
}

func (a *API) listPublishChanges(r *request) (response, error) {
	list, err := a.svc.PublishChanges(r.Context(), r.who, r.pathID, r.query.list)
	return ok(newList(list, newChange)), err
}

func (a *API) restorePublish(r *request) (response, error) {
	p, err := a.svc.RestorePublish(r.Context(), r.who, r.pathID, noFields(r))
	return published(p), err
}

func (a *API) publishPage(r *request) (response, error) {
	p, err := a.svc.PublishPage(r.Context(), r.who, r.pathID, noFields(r))
	return published(p), err
}

func (a *API) discardPage(r *request) (response, error) {
	page, err := a.svc.DiscardPage(r.Context(), r.who, r.pathID, noFields(r))
	if page.DeletedAt != nil {
		return noContent(), err
	}
	return ok(newPage(page)), err
}

func (a *API) listPagePublishes(r *request) (response, error) {
	list, err := a.svc.PagePublishes(r.Context(), r.who, r.pathID, r.query.list)
	return ok(newList(list, newPublish)), err
}
