package service

import (
	"cmp"
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
	return viewSite(ctx, s, who, ofLocale(ref), func(_ context.Context, _ cms.Reader, f siteSnapshot) (LocaleView, error) {
		locale, err := findLocale(f.locales, ref)
		return LocaleView{locale, locale.ID == f.site.DefaultLocaleID}, err
	})
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

// Locales lists the locales of a site, or those that are deleted.
func (s *Service) Locales(ctx context.Context, who Caller, siteID cms.ID, deleted bool, q cms.ListQuery) (cms.List[LocaleView], error) {
	if err := who.maySeeTrash(deleted); err != nil {
		return cms.List[LocaleView]{}, err
	}
	return viewSite(ctx, s, who, ofSite(siteID), func(_ context.Context, _ cms.Reader, f siteSnapshot) (list cms.List[LocaleView], err error) {
		if _, ok := f.locales.ByID(q.After); q.After != cms.NoID && !ok {
			return list, cms.ErrCursor
		}
		var views []LocaleView
		for _, l := range f.locales {
			if (l.DeletedAt != nil) == deleted && cms.CompareIDs(l.ID, q.After) > 0 {
				views = append(views, LocaleView{l, l.ID == f.site.DefaultLocaleID})
			}
		}
		return cms.CutList(views, q.Limit), nil
	})
}

// CreateLocale adds a locale to a site.
func (s *Service) CreateLocale(ctx context.Context, who Caller, in Input[cms.NewLocale]) (LocaleView, error) {
	n, err := in()
	if err != nil {
		return LocaleView{}, err
	}
	return inSite(ctx, s, who, ofSite(n.SiteID.Value), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (view LocaleView, _ []written, err error) {
		view.Locale = n.Apply(cms.Locale{ID: cms.NewID(), SiteID: f.site.ID, CreatedAt: s.now()})
		if err := f.locales.CheckUnique(f.site, view.Locale); err != nil {
			return view, nil, err
		}
		if err := tx.CreateLocale(ctx, view.Locale); err != nil {
			return view, nil, err
		}
		return view, wroteLocale(nil, view), f.withLocale(view.Locale).refuseMovedCircles(ctx, tx, view.ID)
	})
}

// UpdateLocale changes a locale.
func (s *Service) UpdateLocale(ctx context.Context, who Caller, ref Ref, in Input[cms.LocalePatch], match Match[LocaleView]) (LocaleView, error) {
	return s.changeLocale(ctx, who, ref, match, func(view LocaleView) (LocaleView, error) {
		patch, err := in()
		view.Locale = patch.Apply(view.Locale)
		return view, err
	})
}

// DeleteLocale hides a locale and what pages override in it.
func (s *Service) DeleteLocale(ctx context.Context, who Caller, ref Ref, match Match[LocaleView]) error {
	_, err := s.changeLocale(ctx, who, ref, match, func(view LocaleView) (LocaleView, error) {
		if view.IsDefault {
			return view, cms.BadField("locale", "must not be the default locale")
		}
		view.DeletedAt = new(s.now())
		return view, nil
	})
	return err
}

func (s *Service) changeLocale(ctx context.Context, who Caller, ref Ref, match Match[LocaleView], rule func(LocaleView) (LocaleView, error)) (LocaleView, error) {
	return inSite(ctx, s, who, ofLocale(ref), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (after LocaleView, _ []written, err error) {
		site := f.site
		locale, err := findLocale(f.locales, ref)
		if err != nil {
			return after, nil, err
		}
		before := LocaleView{locale, locale.ID == site.DefaultLocaleID}
		after, changed, err := match.apply(before, rule)
		if err != nil || !changed {
			return after, nil, err
		}
		if after.DeletedAt != nil {
			err = tx.HideLocale(ctx, site.ID, after.ID)
		} else {
			err = f.locales.CheckUnique(site, after.Locale)
		}
		if err != nil {
			return after, nil, err
		}
		shown := before.Code != after.Code || !reflect.DeepEqual(before.PathPrefix, after.PathPrefix)
		if after.IsDefault && shown { // in the site
			site.DefaultLocale, site.UpdatedAt = after.Locale, s.now()
			if err := tx.UpdateSite(ctx, site); err != nil {
				return after, nil, err
			}
		}
		if err := tx.UpdateLocale(ctx, after.Locale); err != nil {
			return after, nil, err
		}
		return after, wroteLocale(before, after), f.moveLocale(ctx, tx, after.Locale)
	})
}

// RestoreLocale restores a deleted locale.
func (s *Service) RestoreLocale(ctx context.Context, who Caller, ref Ref, body Empty) (LocaleView, error) {
	t := target{kind: cms.KindLocale, ref: ref}
	return inSite(ctx, s, who, t, cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (view LocaleView, _ []written, err error) {
		view.Locale, err = findDeletedLocale(f.locales, ref)
		if cms.CodeOf(err) == cms.CodeNotFound {
			return view, nil, err
		}
		if err := cmp.Or(body.check(), err); err != nil {
			return view, nil, err
		}
		view.DeletedAt = nil
		if err := f.locales.CheckUnique(f.site, view.Locale); err != nil {
			return view, nil, err
		}
		if err := tx.UpdateLocale(ctx, view.Locale); err != nil {
			return view, nil, err
		}
		if err := tx.ShowLocale(ctx, f.site.ID, view.ID); err != nil {
			return view, nil, err
		}
		return view, wroteLocale(nil, view), f.moveLocale(ctx, tx, view.Locale)
	})
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
func wroteLocale(before any, after LocaleView) []written {
	return []written{{kind: cms.KindLocale, id: after.ID, siteID: after.SiteID, before: before, after: after}}
}
