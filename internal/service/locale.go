package service

import (
	"context"
	"reflect"
	"slices"

	"galley/internal/cms"
)

// LocaleView is a locale as a reader sees it.
type LocaleView struct {
	cms.Locale
	IsDefault bool
}

// Locale reads a locale.
func (s *Service) Locale(ctx context.Context, who Caller, ref Ref) (LocaleView, error) {
	var view LocaleView
	err := s.viewSite(ctx, who, ofLocale(ref), func(_ context.Context, _ cms.Reader, f siteSnapshot) error {
		locale, err := findLocale(f.locales, ref)
		view = LocaleView{locale, locale.ID == f.site.DefaultLocaleID}
		return err
	})
	return view, err
}

func findLocale(locales cms.Locales, ref Ref) (cms.Locale, error) {
	name := ref.Name
	if ref.ID != cms.NoID {
		name = ref.ID.String()
	}
	locale, ok := locales.Find(name)
	if !ok {
		return locale, cms.NotFound(cms.KindLocale)
	}
	return locale, nil
}

// Locales lists the locales of a site.
func (s *Service) Locales(ctx context.Context, who Caller, siteID cms.ID, q cms.ListQuery) (cms.List[LocaleView], error) {
	var list cms.List[LocaleView]
	err := s.viewSite(ctx, who, ofSite(siteID), func(_ context.Context, _ cms.Reader, f siteSnapshot) error {
		if _, ok := f.locales.ByID(q.After); q.After != cms.NoID && !ok {
			return cms.ErrCursor
		}
		var views []LocaleView
		for _, l := range f.locales {
			if l.DeletedAt == nil && cms.CompareIDs(l.ID, q.After) > 0 {
				views = append(views, LocaleView{l, l.ID == f.site.DefaultLocaleID})
			}
		}
		list = cms.CutList(views, q.Limit)
		return nil
	})
	return list, err
}

// CreateLocale adds a locale to a site.
func (s *Service) CreateLocale(ctx context.Context, who Caller, in Input[cms.NewLocale]) (LocaleView, error) {
	n, err := in()
	if err != nil {
		return LocaleView{}, err
	}
	var view LocaleView
	err = s.inSite(ctx, who, ofSite(n.SiteID.Value), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) error {
		view.Locale = cms.Locale{
			ID: cms.NewID(), SiteID: f.site.ID, Code: n.Code.Value, Domain: n.Domain.Value,
			PathPrefix: n.PathPrefix.Value, CreatedAt: s.now(),
		}
		if err := f.locales.CheckUnique(f.site, view.Locale); err != nil {
			return err
		}
		if err := tx.CreateLocale(ctx, view.Locale); err != nil {
			return err
		}
		if err := f.withLocale(view.Locale).refuseMovedCircles(ctx, tx, cms.NoID); err != nil {
			return err
		}
		return s.record(ctx, tx, who.actor(), wroteLocale(nil, view))
	})
	return view, err
}

// UpdateLocale changes a locale.
func (s *Service) UpdateLocale(ctx context.Context, who Caller, ref Ref, in Input[cms.LocalePatch], match Match[LocaleView]) (LocaleView, error) {
	return s.changeLocale(ctx, who, ref, match, func(_ cms.Tx, view LocaleView) (cms.Locale, error) {
		patch, err := in()
		return patch.Apply(view.Locale), err
	})
}

// DeleteLocale hides a locale and what pages override in it.
func (s *Service) DeleteLocale(ctx context.Context, who Caller, ref Ref, match Match[LocaleView]) error {
	_, err := s.changeLocale(ctx, who, ref, match, func(tx cms.Tx, view LocaleView) (cms.Locale, error) {
		if view.IsDefault {
			return view.Locale, cms.BadField("locale", "must not be the default locale")
		}
		view.DeletedAt = new(s.now())
		return view.Locale, tx.HideLocale(ctx, view.SiteID, view.ID)
	})
	return err
}

func (s *Service) changeLocale(ctx context.Context, who Caller, ref Ref, match Match[LocaleView], rule func(cms.Tx, LocaleView) (cms.Locale, error)) (LocaleView, error) {
	var view LocaleView
	err := s.inSite(ctx, who, ofLocale(ref), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) error {
		site := f.site
		before, err := findLocale(f.locales, ref)
		if err != nil {
			return err
		}
		view = LocaleView{before, before.ID == site.DefaultLocaleID}
		after, err := rule(tx, view)
		if err != nil {
			return err
		}
		if err := match.check(view); err != nil {
			return err
		}
		if reflect.DeepEqual(before, after) {
			return nil
		}
		if after.DeletedAt == nil {
			if err := f.locales.CheckUnique(site, after); err != nil {
				return err
			}
		}
		was := view
		view.Locale = after
		if err := tx.UpdateLocale(ctx, after); err != nil {
			return err
		}
		if err := f.moveLocale(ctx, tx, after); err != nil {
			return err
		}
		shown := before.Code != after.Code || !reflect.DeepEqual(before.PathPrefix, after.PathPrefix)
		if view.IsDefault && shown { // in the site
			site.DefaultLocale, site.UpdatedAt = after, s.now()
			if err := tx.UpdateSite(ctx, site); err != nil {
				return err
			}
		}
		return s.record(ctx, tx, who.actor(), wroteLocale(was, view))
	})
	return view, err
}

// RestoreLocale restores a deleted locale.
func (s *Service) RestoreLocale(ctx context.Context, who Caller, ref Ref, body Empty) (LocaleView, error) {
	var view LocaleView
	t := target{kind: cms.KindLocale, ref: ref}
	err := s.inSite(ctx, who, t, cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) error {
		locale, err := findDeletedLocale(f.locales, ref)
		if cms.CodeOf(err) == cms.CodeNotFound {
			return err
		}
		if err := body.check(); err != nil {
			return err
		}
		if err != nil {
			return err
		}
		locale.DeletedAt = nil
		if err := f.locales.CheckUnique(f.site, locale); err != nil {
			return err
		}
		view = LocaleView{locale, false}
		if err := tx.UpdateLocale(ctx, locale); err != nil {
			return err
		}
		if err := tx.ShowLocale(ctx, f.site.ID, locale.ID); err != nil {
			return err
		}
		if err := f.moveLocale(ctx, tx, locale); err != nil {
			return err
		}
		return s.record(ctx, tx, who.actor(), wroteLocale(nil, view))
	})
	return view, err
}

// withLocale is the site with a new or changed locale.
func (f siteSnapshot) withLocale(locale cms.Locale) siteSnapshot {
	f.locales = slices.DeleteFunc(slices.Clone(f.locales), func(l cms.Locale) bool { return l.ID == locale.ID })
	f.locales = append(f.locales, locale)
	if locale.ID == f.site.DefaultLocaleID {
		f.site.DefaultLocale = locale
	}
	return f
}

// moveLocale releases or takes the sources of a locale's redirects, if it is hidden or
// shown again, and checks that redirects do not come round now.
func (f siteSnapshot) moveLocale(ctx context.Context, tx cms.Tx, after cms.Locale) error {
	next, shown := f.withLocale(after), cms.NoID
	if f.locales.Shows(after.ID) != next.locales.Shows(after.ID) {
		var moves []claimMove
		for _, version := range []cms.Version{cms.Draft, cms.Live} {
			redirects, err := tx.RedirectsIn(ctx, f.site.ID, version, after.ID)
			if err != nil {
				return err
			}
			for _, r := range redirects {
				moves = append(moves, claimMove{before: r.Claims(f.locales), after: r.Claims(next.locales)})
			}
		}
		clashes, err := findClashes(ctx, tx, f.site.ID, moves...)
		if err == nil && len(clashes) > 0 {
			err = clashes[0].err()
		}
		if err == nil {
			err = storeMoves(ctx, tx, f.site.ID, moves...)
		}
		if err != nil {
			return err
		}
		shown = after.ID
	}
	return next.refuseMovedCircles(ctx, tx, shown)
}

// findDeletedLocale finds what is to be restored: by code, the locale that was
// deleted last.
func findDeletedLocale(locales cms.Locales, ref Ref) (cms.Locale, error) {
	if _, err := findLocale(locales, ref); err == nil {
		return cms.Locale{}, cms.Conflict("The locale is not deleted")
	}
	if ref.ID != cms.NoID {
		locale, _ := locales.ByID(ref.ID) // its site was found by its id
		return locale, nil
	}
	code, err := cms.ParseLocaleCode(ref.Name)
	if err != nil {
		return cms.Locale{}, cms.NotFound(cms.KindLocale)
	}
	locale, ok := locales.DeletedByCode(code)
	if !ok {
		return cms.Locale{}, cms.NotFound(cms.KindLocale)
	}
	return locale, nil
}

// wroteLocale is a write of a locale; before is nil for a new one.
func wroteLocale(before any, after LocaleView) written {
	return written{cms.KindLocale, after.ID, after.SiteID, before, after}
}
