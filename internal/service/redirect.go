package service

import (
	"context"

	"galley/internal/cms"
)

// RedirectView is a redirect as a reader sees it.
type RedirectView struct {
	cms.Redirect
	Locale *string // the code; nil: every locale
}

func (f siteSnapshot) viewRedirect(r cms.Redirect) RedirectView {
	view := RedirectView{Redirect: r}
	if l, ok := f.locales.ByID(r.LocaleID); ok {
		view.Locale = &l.Code
	}
	return view
}

// existingRedirect turns a redirect that is deleted, or of a hidden locale, into one
// that is not found.
func existingRedirect(locales cms.Locales, r cms.Redirect, err error) (cms.Redirect, error) {
	if err == nil && (r.DeletedAt != nil || !locales.Shows(r.LocaleID)) {
		err = cms.NotFound(cms.KindRedirect)
	}
	return r, err
}

// ofRedirect addresses a redirect that a version has.
func ofRedirect(id cms.ID, version cms.Version) target {
	return target{kind: cms.KindRedirect, ref: Ref{ID: id}, exists: func(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
		found, err := r.Redirect(ctx, siteID, version, id)
		if err == nil && found.DeletedAt != nil {
			err = cms.NotFound(cms.KindRedirect)
		}
		return err
	}}
}

// ofAnyRedirect addresses a redirect whose draft may be deleted.
func ofAnyRedirect(id cms.ID) target { return target{kind: cms.KindRedirect, ref: Ref{ID: id}} }

// Redirect reads a redirect in a version.
func (s *Service) Redirect(ctx context.Context, who Caller, id cms.ID, ref VersionRef) (RedirectView, error) {
	t := ofRedirect(id, ref.Version)
	if ref.Publish != cms.NoID {
		t.exists = nil // its history is read below
	}
	return viewSite(ctx, s, who, t, func(ctx context.Context, r cms.Reader, f siteSnapshot) (RedirectView, error) {
		version, err := f.version(ctx, r, who, ref)
		if err != nil {
			return RedirectView{}, err
		}
		found, err := r.Redirect(ctx, f.site.ID, version, id)
		found, err = existingRedirect(f.locales, found, err)
		if err == nil {
			err = who.maySee(found.Source)
		}
		return f.viewRedirect(found), err
	})
}

// ReadRedirects asks for one page of a list of redirects.
type ReadRedirects struct {
	SiteID       cms.ID
	Version      VersionRef
	Locale       string // id or code; "": all
	SourcePrefix string
	Deleted      bool // the deleted ones of the draft instead
	List         cms.ListQuery
}

// RedirectList is one page of a list of redirects. Pure and OnSend are as in PageList.
type RedirectList struct {
	cms.List[RedirectView]
	Pure   bool
	OnSend func()
}

// sortRedirects is the order of redirects, for the positions of walks.
const sortRedirects cms.PageSort = "redirects"

// Redirects lists the redirects of a site by source. In a locale it lists those of
// every locale too.
func (s *Service) Redirects(ctx context.Context, who Caller, ask ReadRedirects) (RedirectList, error) {
	if err := who.maySeeTrash(ask.Deleted); err != nil {
		return RedirectList{}, err
	}
	asOf := s.changes.version()
	return viewSite(ctx, s, who, ofSite(ask.SiteID), func(ctx context.Context, r cms.Reader, f siteSnapshot) (list RedirectList, err error) {
		q := cms.RedirectQuery{SiteID: ask.SiteID, SourcePrefix: ask.SourcePrefix, Deleted: ask.Deleted, Limit: ask.List.Limit}
		if who.Preview != nil {
			q.Under = who.Preview.PathPrefix
		}
		if q.Version, err = f.version(ctx, r, who, ask.Version); err != nil {
			return list, err
		}
		var lv localeView
		if ask.Locale != "" {
			if lv, err = f.find(ask.Locale); err != nil {
				return list, err
			}
		}
		q.LocaleIDs = f.redirectLocales(lv.id)
		w := walkOf(who, cms.PageQuery{SiteID: q.SiteID, Version: q.Version, PathPrefix: q.SourcePrefix, Deleted: q.Deleted, Sort: sortRedirects}, lv)
		if list.Pure, err = s.redirectPosition(ctx, r, w, &q, ask.List.After); err != nil {
			return list, err
		}
		found, err := r.Redirects(ctx, q)
		cut := cms.CutList(found, q.Limit)
		list.Items, list.HasMore, list.OnSend = make([]RedirectView, len(cut.Items)), cut.HasMore, func() {}
		for i, redirect := range cut.Items {
			list.Items[i] = f.viewRedirect(redirect)
		}
		if n := len(cut.Items); n > 0 {
			last := position{cut.Items[n-1].Position(), asOf}
			list.OnSend = func() { s.positions.remember(w, last, s.clock()) }
		}
		return list, err
	})
}

// redirectLocales are the locales whose redirects are listed; nil is all. NoID lists
// those of all locales that are not hidden.
func (f siteSnapshot) redirectLocales(localeID cms.ID) []cms.ID {
	if localeID != cms.NoID {
		return []cms.ID{cms.NoID, localeID}
	}
	shown := []cms.ID{cms.NoID}
	for _, l := range f.locales {
		if l.DeletedAt == nil {
			shown = append(shown, l.ID)
		}
	}
	if len(shown) == len(f.locales)+1 {
		return nil
	}
	return shown
}

// redirectPosition is setPosition for a list of redirects.
func (s *Service) redirectPosition(ctx context.Context, r cms.Reader, w walk, q *cms.RedirectQuery, after cms.ID) (current bool, err error) {
	if after == cms.NoID {
		return true, nil
	}
	if known, ok := s.positions.recall(w, after, !s.store.Shared(), s.clock()); ok {
		q.After = &known.PagePosition
		return s.changes.unchanged(known.asOf, cms.SubjectsOf(q.SiteID, q.Version)...), nil
	}
	cursor, err := r.Redirect(ctx, q.SiteID, q.Version, after)
	if q.Version == cms.Live && cms.CodeOf(err) == cms.CodeNotFound {
		cursor, err = r.LastLiveRedirect(ctx, q.SiteID, after)
	}
	if err != nil {
		return false, cursorError(err)
	}
	q.After = new(cursor.Position())
	return true, nil
}

// redirectLocale finds the locale that a patch names. NoID is every locale.
func (f siteSnapshot) redirectLocale(patch cms.RedirectPatch) (cms.ID, error) {
	if patch.Locale.Value == nil {
		return cms.NoID, nil
	}
	lv, err := f.find(*patch.Locale.Value)
	return lv.id, err
}

// CreateRedirect creates a redirect in the draft.
func (s *Service) CreateRedirect(ctx context.Context, who Caller, in Input[cms.NewRedirect]) (RedirectView, error) {
	n, err := in()
	if err != nil {
		return RedirectView{}, err
	}
	return inSite(ctx, s, who, ofSite(n.SiteID.Value), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (view RedirectView, _ []written, err error) {
		localeID, err := f.redirectLocale(n.RedirectPatch)
		if err != nil {
			return view, nil, err
		}
		after := s.newRedirect(f.site, n.RedirectPatch, localeID)
		view = f.viewRedirect(after)
		return view, wroteRedirect(nil, view), saveRedirects(ctx, tx, f, cms.RedirectChange{After: &after})
	})
}

func (s *Service) newRedirect(site cms.Site, patch cms.RedirectPatch, localeID cms.ID) cms.Redirect {
	now := s.now()
	blank := cms.Redirect{ID: cms.NewID(), SiteID: site.ID, Status: cms.DefaultRedirectStatus, CreatedAt: now, UpdatedAt: now, Dirty: true}
	return patch.Apply(blank, localeID)
}

// UpdateRedirect changes a redirect in the draft. One that was automatic is an ordinary
// one from then on.
func (s *Service) UpdateRedirect(ctx context.Context, who Caller, id cms.ID, in Input[cms.RedirectPatch], match Match[RedirectView]) (RedirectView, error) {
	return s.changeRedirect(ctx, who, id, match, func(f siteSnapshot, r cms.Redirect) (cms.Redirect, error) {
		patch, err := in()
		if err != nil {
			return r, err
		}
		localeID, err := f.redirectLocale(patch)
		if err != nil {
			return r, err
		}
		r = patch.Apply(r, localeID)
		return r, r.Check()
	})
}

// DeleteRedirect deletes a redirect from the draft.
func (s *Service) DeleteRedirect(ctx context.Context, who Caller, id cms.ID, match Match[RedirectView]) error {
	_, err := s.changeRedirect(ctx, who, id, match, func(_ siteSnapshot, r cms.Redirect) (cms.Redirect, error) {
		r.DeletedAt = new(s.now())
		return r, nil
	})
	return err
}

func (s *Service) changeRedirect(ctx context.Context, who Caller, id cms.ID, match Match[RedirectView], rule func(siteSnapshot, cms.Redirect) (cms.Redirect, error)) (RedirectView, error) {
	return inSite(ctx, s, who, ofRedirect(id, cms.Draft), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (view RedirectView, _ []written, err error) {
		before, err := tx.Redirect(ctx, f.site.ID, cms.Draft, id)
		if before, err = existingRedirect(f.locales, before, err); err != nil {
			return view, nil, err
		}
		after, err := rule(f, before)
		was := f.viewRedirect(before)
		if err == nil {
			err = match.check(was)
		}
		if err != nil || !s.stampRedirect(before, &after) {
			return was, nil, err
		}
		view = f.viewRedirect(after)
		return view, wroteRedirect(was, view), saveRedirects(ctx, tx, f, cms.RedirectChange{Before: &before, After: &after})
	})
}

// stampRedirect sets the time of a change of a draft, if there is one.
func (s *Service) stampRedirect(before cms.Redirect, after *cms.Redirect) bool {
	if before.SameContent(*after) && (before.DeletedAt == nil) == (after.DeletedAt == nil) {
		return false
	}
	after.UpdatedAt, after.Dirty = s.now(), true
	return true
}

// RestoreRedirect restores a redirect that was deleted from the draft.
func (s *Service) RestoreRedirect(ctx context.Context, who Caller, id cms.ID, body Empty) (RedirectView, error) {
	return inSite(ctx, s, who, ofAnyRedirect(id), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (view RedirectView, _ []written, err error) {
		before, err := tx.Redirect(ctx, f.site.ID, cms.Draft, id)
		if err == nil && !f.locales.Shows(before.LocaleID) {
			err = cms.NotFound(cms.KindRedirect)
		}
		if err == nil {
			err = body.check()
		}
		if err != nil {
			return view, nil, err
		}
		if before.DeletedAt == nil {
			return view, nil, cms.Conflict("The redirect is not deleted")
		}
		after := before
		after.DeletedAt = nil
		s.stampRedirect(before, &after)
		view = f.viewRedirect(after)
		return view, wroteRedirect(nil, view), saveRedirects(ctx, tx, f, cms.RedirectChange{Before: &before, After: &after})
	})
}

// saveRedirects stores changes of drafts, unless a source is taken or redirects would
// come round. It holds the site lock.
func saveRedirects(ctx context.Context, tx cms.Tx, f siteSnapshot, changes ...cms.RedirectChange) error {
	taken, err := takenSources(ctx, tx, f, cms.Draft, changes)
	if err != nil {
		return err
	}
	moves := redirectMoves(changes, f.locales)
	clashes, err := findClashes(ctx, tx, f.site.ID, moves...)
	switch {
	case err != nil:
		return err
	case len(clashes) > 0:
		return clashes[0].err()
	case len(taken) > 0:
		return cms.ErrRedirectTaken
	}
	if err := storeRedirects(ctx, tx, changes); err != nil {
		return err
	}
	if err := storeMoves(ctx, tx, f.site.ID, moves...); err != nil {
		return err
	}
	return f.refuseCircles(ctx, tx, cms.Draft, changes)
}

// storeRedirects stores the new states of drafts.
func storeRedirects(ctx context.Context, tx cms.Tx, changes []cms.RedirectChange) error {
	after := make([]cms.Redirect, len(changes))
	for i, c := range changes {
		after[i] = *c.After
	}
	return tx.SaveRedirects(ctx, after...)
}

// wroteRedirect is a write of a redirect; before is nil for a new one.
func wroteRedirect(before any, after RedirectView) []written {
	return []written{{kind: cms.KindRedirect, id: after.ID, siteID: after.SiteID, before: before, after: after}}
}

// hasRedirect returns NotFound for a redirect that neither version has.
func hasRedirect(ctx context.Context, r cms.Reader, siteID, id cms.ID) error {
	draft, err := r.Redirect(ctx, siteID, cms.Draft, id)
	if err == nil && draft.DeletedAt != nil {
		_, err = r.Redirect(ctx, siteID, cms.Live, id)
	}
	return err
}

// checkRedirects returns NotFound if neither version has one of the redirects.
func (f siteSnapshot) checkRedirects(ctx context.Context, r cms.Reader, ids []cms.ID) error {
	drafts, err := r.RedirectsByID(ctx, f.site.ID, cms.Draft, ids)
	if err != nil {
		return err
	}
	lives, err := r.RedirectsByID(ctx, f.site.ID, cms.Live, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		draft := drafts[id]
		if draft == nil || !f.locales.Shows(draft.LocaleID) || (draft.DeletedAt != nil && lives[id] == nil) {
			return cms.NotFound(cms.KindRedirect)
		}
	}
	return nil
}

// DiscardRedirect takes a redirect's draft, deleted or not, back to what is live. One
// that was never live is deleted.
func (s *Service) DiscardRedirect(ctx context.Context, who Caller, id cms.ID, body Empty) (RedirectView, error) {
	t := target{kind: cms.KindRedirect, ref: Ref{ID: id}, exists: hasRedirect}
	return inSite(ctx, s, who, t, cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (view RedirectView, _ []written, err error) {
		err = f.checkRedirects(ctx, tx, []cms.ID{id})
		if err == nil {
			err = body.check()
		}
		if err != nil {
			return view, nil, err
		}
		changes, writes, err := s.discardedRedirects(ctx, tx, f, []cms.ID{id}, nil)
		if err != nil {
			return view, nil, err
		}
		if err := saveRedirects(ctx, tx, f, changes...); err != nil {
			return view, nil, err
		}
		draft, err := tx.Redirect(ctx, f.site.ID, cms.Draft, id)
		return f.viewRedirect(draft), writes, err
	})
}

// discardedRedirects computes what takes drafts back to what is live. selects reports
// whether a draft is selected; nil selects all.
func (s *Service) discardedRedirects(ctx context.Context, r cms.Reader, f siteSnapshot, ids []cms.ID, selects func(cms.Redirect) bool) ([]cms.RedirectChange, []written, error) {
	drafts, err := r.RedirectsByID(ctx, f.site.ID, cms.Draft, ids)
	if err != nil {
		return nil, nil, err
	}
	lives, err := r.RedirectsByID(ctx, f.site.ID, cms.Live, ids)
	if err != nil {
		return nil, nil, err
	}
	var changes []cms.RedirectChange
	var writes []written
	now := s.now()
	for _, id := range ids {
		draft := drafts[id]
		if draft == nil || !f.locales.Shows(draft.LocaleID) || (selects != nil && !selects(*draft)) {
			continue
		}
		after := cms.DiscardRedirect(*draft, lives[id], now)
		if after == *draft {
			continue
		}
		changes = append(changes, cms.RedirectChange{Before: draft, After: &after})
		if !after.SameContent(*draft) || (after.DeletedAt == nil) != (draft.DeletedAt == nil) {
			writes = append(writes, wroteRedirect(f.viewRedirect(*draft), f.viewRedirect(after))...)
		}
	}
	return changes, writes, nil
}
