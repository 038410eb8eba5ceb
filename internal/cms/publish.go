package cms

import (
	"errors"
	"maps"
	"slices"
	"time"
)

// PublishStatus is the state of a publish.
type PublishStatus string

// A publish is published at once, or scheduled first. A scheduled one may be
// canceled, or fail.
const (
	StatusScheduled PublishStatus = "scheduled"
	StatusPublished PublishStatus = "published"
	StatusCanceled  PublishStatus = "canceled"
	StatusFailed    PublishStatus = "failed"
)

// PublishStatuses lists all states.
var PublishStatuses = []PublishStatus{StatusScheduled, StatusPublished, StatusCanceled, StatusFailed}

// PageChange takes a page of the draft or the live version from one state to
// another. Nil is a page that does not exist.
type PageChange struct {
	Before, After *Page
	AsDraft       bool // After is equal to the draft
}

// ID is the page's.
func (c PageChange) ID() ID {
	if c.Before != nil {
		return c.Before.ID
	}
	return c.After.ID
}

// Publish is one step of a site's live version, done or scheduled.
type Publish struct {
	ID           ID
	SiteID       ID
	Seq          int64 // its number among the site's published ones, from 1; 0: not published
	Name         *string
	Status       PublishStatus
	PublishAt    *time.Time
	PublishedAt  *time.Time
	ChangeCount  int
	PreviousID   *ID
	RestoredFrom *ID
	Reason       *string
	CreatedAt    time.Time
	CreatedBy    ID
	CreatedName  string // of the app; read with the publish, and not saved with it
	Actor        string // the person for whom the app asked for it; "": it named none
	// Select, Confirm and Plan are stored for a scheduled run.
	Select  Selection
	Confirm bool
	Plan    *string
}

// Selection is the part of the draft that is published or discarded. Nil is all.
type Selection struct {
	PageIDs     []ID
	RedirectIDs []ID
	Locales     []ID // after Applied, NoID is the default locale
}

// All reports whether everything is selected.
func (s Selection) All() bool { return s.PageIDs == nil && s.RedirectIDs == nil && s.Locales == nil }

// Applied is the selection with NoID in place of the default locale.
func (s Selection) Applied(defaultLocale ID) Selection {
	s.Locales = slices.Clone(s.Locales)
	if i := slices.Index(s.Locales, defaultLocale); i >= 0 {
		s.Locales[i] = NoID
	}
	return s
}

// Has reports whether a locale is selected. NoID is the default locale.
func (s Selection) Has(localeID ID) bool {
	return s.Locales == nil || slices.Contains(s.Locales, localeID)
}

// SelectionRequest names pages, redirects and locales, by code or id. Omitted or nil is
// all, but pages alone select no redirects, and redirects alone no pages.
type SelectionRequest struct {
	PageIDs     Opt[[]ID]
	RedirectIDs Opt[[]ID]
	Locales     Opt[[]string]
}

// DiscardRequest asks to reset the draft to what is live.
type DiscardRequest struct {
	SelectionRequest
	Confirm Opt[bool]
}

// PublishRequest asks for a publish.
type PublishRequest struct {
	SelectionRequest
	Plan      Opt[string]
	Name      Opt[*string]
	PublishAt Opt[*time.Time]
	Confirm   Opt[bool]
	DryRun    Opt[bool] // only tell what it would do
}

// The largest numbers of pages and locales that a publish can name.
const (
	MaxPublishPages   = 1000
	MaxPublishLocales = 1000
)

// Clean notes what is wrong with the values.
func (r *SelectionRequest) Clean(p *Problems) {
	atMost := func(kind string) func([]ID) error {
		return func(ids []ID) error {
			if ids != nil && (len(ids) == 0 || len(ids) > MaxPublishPages) {
				return errors.New("must name 1 to 1,000 " + kind)
			}
			return nil
		}
	}
	check(p, "pageIds", r.PageIDs, atMost("pages"))
	check(p, "redirectIds", r.RedirectIDs, atMost("redirects"))
	check(p, "locales", r.Locales, func(codes []string) error {
		if codes != nil && len(codes) == 0 {
			return errors.New("must name at least one locale")
		}
		if len(codes) > MaxPublishLocales {
			return errors.New("must name at most 1,000 locales")
		}
		for _, c := range codes {
			if !LocaleRefForm(c) {
				return errors.New("must be locale codes or ids")
			}
		}
		return nil
	})
}

// Clean normalizes the values and notes what is wrong with them.
func (r *PublishRequest) Clean(p *Problems, now time.Time) {
	r.SelectionRequest.Clean(p)
	cleanPtr(p, "name", &r.Name, func(s string) (string, error) { return s, checkName(s) })
	check(p, "publishAt", r.PublishAt, inFuture(now))
}

// PublishPage returns the live version of a page after the selected values of its
// draft go live. Nil is a page that is not live. Hidden values do not change.
func PublishPage(draft, live *Page, selected Selection, locales Locales) *Page {
	next := live
	if selected.Has(NoID) {
		if draft == nil || draft.DeletedAt != nil {
			return nil
		}
		next = new(draft.live())
		next.Localizations = map[ID]Localization{}
		if live != nil {
			maps.Copy(next.Localizations, live.Localizations)
		}
	} else if live != nil {
		next = new(live.Clone())
	}
	if next == nil {
		return nil
	}
	if draft != nil && draft.DeletedAt == nil {
		for _, l := range locales {
			if l.DeletedAt == nil && selected.Has(l.ID) {
				next.localizeAs(*draft, l.ID)
			}
		}
		next.UpdatedAt = draft.UpdatedAt
	}
	next.inherit()
	return next
}

// localizeAs copies what a locale overrides from another state of the page.
func (p *Page) localizeAs(from Page, localeID ID) {
	delete(p.Localizations, localeID)
	if own, ok := from.Localizations[localeID]; ok {
		p.Localizations[localeID] = own
	}
}

// live is the page in the live version.
func (p Page) live() Page {
	p = p.Clone()
	p.Version, p.DeletedAt = Live, nil
	return p
}

// KeepHidden restores the values that hidden locales had when the page was last
// live.
func (p *Page) KeepHidden(was Page) {
	maps.Copy(p.Localizations, was.Localizations)
	p.inherit()
}

// IsClean reports whether publishing a whole draft would change nothing, not even
// which values a locale owns.
func IsClean(draft, live *Page, locales Locales) bool {
	next := PublishPage(draft, live, Selection{}, locales)
	if next == nil || live == nil {
		return next == live
	}
	return next.SameContent(*live)
}

// DiscardPage returns a draft with the selected values reset to what is live. If
// live is nil, the page is not live and its draft is deleted. Hidden values do not
// change.
func DiscardPage(draft Page, live *Page, selected Selection, locales Locales, now time.Time) Page {
	own := selected.Has(NoID)
	switch {
	case !own && (live == nil || draft.DeletedAt != nil):
		return draft // creations and deletions belong to the default locale
	case live == nil && draft.DeletedAt == nil:
		draft.DeletedAt, draft.UpdatedAt = &now, now
		return draft
	case live == nil:
		return draft
	}
	next := draft.Clone()
	if own {
		next.Name, next.Values, next.DeletedAt = live.Name, live.Values, nil
	}
	for _, l := range locales {
		if l.DeletedAt == nil && selected.Has(l.ID) {
			next.localizeAs(*live, l.ID)
		}
	}
	next.inherit()
	switch {
	case next.SameContent(draft) && draft.DeletedAt == nil:
		return draft
	case IsClean(&next, live, locales):
		next.UpdatedAt = live.UpdatedAt
	}
	return next
}

// RestorePage returns the live version of a page as it was, with the present hidden
// values. Nil is a page that is or was not live.
func RestorePage(was, live *Page, locales Locales) *Page {
	if was == nil {
		return nil
	}
	next := was.live()
	for _, l := range locales {
		if l.DeletedAt != nil && live != nil {
			next.localizeAs(*live, l.ID)
		}
	}
	next.inherit()
	return &next
}

// TakesAway reports whether a publish takes a page away from readers.
func TakesAway(before, after *Page) bool {
	return before != nil && (after == nil || (before.IsOnline && !after.IsOnline))
}
