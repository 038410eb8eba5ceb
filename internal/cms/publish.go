package cms

import (
	"errors"
	"maps"
	"slices"
	"time"
)

// PublishStatus is where a publish stands.
type PublishStatus string

// A publish is scheduled until its time comes, or at once published. A
// scheduled one may be canceled, or fail.
const (
	StatusScheduled PublishStatus = "scheduled"
	StatusPublished PublishStatus = "published"
	StatusCanceled  PublishStatus = "canceled"
	StatusFailed    PublishStatus = "failed"
)

// PublishStatuses lists the values there are.
var PublishStatuses = []PublishStatus{StatusScheduled, StatusPublished, StatusCanceled, StatusFailed}

// PageChange takes a page from one state to another, of its draft or of what is
// live. Nil is a page that is not there.
type PageChange struct {
	Before, After *Page
	AsDraft       bool // what the page becomes live is what its draft has
}

// ID is the page's.
func (c PageChange) ID() ID {
	if c.Before != nil {
		return c.Before.ID
	}
	return c.After.ID
}

// Publish is one step of a site's live version, or one that is to come.
type Publish struct {
	ID           ID
	SiteID       ID
	Seq          int64 // its place among the site's published ones, from 1; 0 before that
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
	Actor        string // the person for whom the app asked for it; "": it named none
	// Select, Confirm and Plan are kept for when a scheduled one runs.
	Select  Selection
	Confirm bool
	Plan    *string
}

// Selection is the part of the draft that is published or discarded. Nil is all.
type Selection struct {
	PageIDs []ID
	Locales []ID // while it is applied, NoID stands for the default locale
}

// All tells whether everything is selected.
func (s Selection) All() bool { return s.PageIDs == nil && s.Locales == nil }

// Applied is the selection with NoID in place of the default locale.
func (s Selection) Applied(defaultLocale ID) Selection {
	s.Locales = slices.Clone(s.Locales)
	if i := slices.Index(s.Locales, defaultLocale); i >= 0 {
		s.Locales[i] = NoID
	}
	return s
}

// Has tells whether a page's values in a locale are selected. NoID is the
// default locale.
func (s Selection) Has(localeID ID) bool {
	return s.Locales == nil || slices.Contains(s.Locales, localeID)
}

// SelectionRequest names pages and locales, by code or id. Omitted or nil is all.
type SelectionRequest struct {
	PageIDs Opt[[]ID]
	Locales Opt[[]string]
}

// DiscardRequest asks for the draft to go back to what is live.
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
}

// These are the largest numbers of pages and of locales that a publish can
// name.
const (
	MaxPublishPages   = 1000
	MaxPublishLocales = 1000
)

// Clean notes what is wrong with the values.
func (r *SelectionRequest) Clean(p *Problems) {
	check(p, "pageIds", r.PageIDs, func(ids []ID) error {
		if ids != nil && (len(ids) == 0 || len(ids) > MaxPublishPages) {
			return errors.New("must name 1 to 1,000 pages")
		}
		return nil
	})
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
	check(p, "name", r.Name, func(s *string) error {
		if s == nil {
			return nil
		}
		return checkName(*s)
	})
	check(p, "publishAt", r.PublishAt, func(t *time.Time) error {
		if t != nil && !t.After(now) {
			return errors.New("must be in the future")
		}
		return nil
	})
}

// PublishPage is the rule of publishing: what a page's live version becomes
// when the selected values of its draft go live. Nil is a page that is not
// live. What is hidden stays as it was.
func PublishPage(draft, live *Page, selected Selection, locales Locales) *Page {
	next := live
	if selected.Has(NoID) {
		switch {
		case draft == nil || draft.DeletedAt != nil:
			return nil
		case live == nil:
			next = new(draft.live())
			next.Localizations = map[ID]Localization{}
		default:
			next = new(draft.live())
			next.Localizations = live.Clone().Localizations
		}
	} else if live != nil {
		next = new(live.Clone())
	}
	if next == nil {
		return nil
	}
	if draft != nil && draft.DeletedAt == nil {
		for _, l := range locales {
			if l.DeletedAt != nil || !selected.Has(l.ID) {
				continue
			}
			if own, ok := draft.Localizations[l.ID]; ok {
				next.Localizations[l.ID] = own
			} else {
				delete(next.Localizations, l.ID)
			}
		}
		next.UpdatedAt = draft.UpdatedAt
	}
	next.inherit()
	return next
}

// live is a page as the live version holds it.
func (p Page) live() Page {
	p = p.Clone()
	p.Version, p.DeletedAt = Live, nil
	return p
}

// KeepHidden gives a page that goes live again the values that hidden locales
// had when it left the live version.
func (p *Page) KeepHidden(was Page) {
	maps.Copy(p.Localizations, was.Localizations)
	p.inherit()
}

// IsClean tells whether publishing a whole draft would change nothing, not even
// which values a locale owns.
func IsClean(draft, live *Page, locales Locales) bool {
	next := PublishPage(draft, live, Selection{}, locales)
	if next == nil || live == nil {
		return next == live
	}
	return next.SameContent(*live)
}

// DiscardPage is the rule of discarding: the selected values of a draft become
// what is live. Nil is a page that is not live, and its draft is deleted. What
// is hidden stays as it was.
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
		if l.DeletedAt != nil || !selected.Has(l.ID) {
			continue
		}
		delete(next.Localizations, l.ID)
		if own, ok := live.Localizations[l.ID]; ok {
			next.Localizations[l.ID] = own
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

// RestorePage is the rule of restoring: the live version of a page becomes what
// it was, but for what is hidden. Nil is a page that is or was not live.
func RestorePage(was, live *Page, locales Locales) *Page {
	if was == nil {
		return nil
	}
	next := was.live()
	for _, l := range locales {
		if l.DeletedAt == nil || live == nil {
			continue
		}
		delete(next.Localizations, l.ID)
		if own, ok := live.Localizations[l.ID]; ok {
			next.Localizations[l.ID] = own
		}
	}
	next.inherit()
	return &next
}

// GoesDark tells whether a publish takes a page away from readers.
func TakesAway(before, after *Page) bool {
	return before != nil && (after == nil || (before.IsOnline && !after.IsOnline))
}
