package service

import (
	"context"
	"reflect"
	"slices"
	"time"

	"galley/internal/cms"
)

// Site reads a site.
func (s *Service) Site(ctx context.Context, who Caller, id cms.ID) (cms.Site, error) {
	var site cms.Site
	err := s.read(ctx, who, &id, func(ctx context.Context, from cms.Source) (err error) {
		site, err = who.checkSite(from.Site(ctx, id))
		return err
	})
	return site, err
}

// Sites lists the sites that the caller reaches. workspaceID is NoID unless
// the caller named one.
func (s *Service) Sites(ctx context.Context, who Caller, workspaceID cms.ID, q cms.SiteQuery) (cms.List[cms.Site], error) {
	return view(ctx, s, func(r cms.Reader) (list cms.List[cms.Site], err error) {
		if err := ownWorkspace(ctx, r, who, workspaceID); err != nil {
			return list, err
		}
		err = checkCursor(q.ListQuery, func() error {
			site, err := r.Site(ctx, q.After)
			if err == nil && who.reaches(site) != nil {
				err = cms.ErrCursor
			}
			return err
		})
		if err != nil {
			return list, err
		}
		sites, err := r.Sites(ctx, who.WorkspaceID(), who.App.SiteIDs, q)
		return cms.CutList(sites, q.Limit), err
	})
}

// ownWorkspace checks the right to a workspace that a request names.
func ownWorkspace(ctx context.Context, r cms.Reader, who Caller, id cms.ID) error {
	if id == cms.NoID || id == who.WorkspaceID() {
		return nil
	}
	if _, err := r.Workspace(ctx, id); err != nil {
		return err
	}
	return cms.Forbidden("The API key has no access to this workspace")
}

// CreateSite creates a site with its default locale.
func (s *Service) CreateSite(ctx context.Context, who Caller, in Input[cms.NewSite]) (cms.Site, error) {
	if err := who.mayCreateSites(); err != nil {
		return cms.Site{}, err
	}
	need(ctx, func(n *cms.Needs) { n.Site = new(cms.NoID) })
	n, err := in()
	if err != nil {
		return cms.Site{}, err
	}
	return inTx(ctx, s, who, func(tx cms.Tx) (site cms.Site, _ []written, err error) {
		if err := ownWorkspace(ctx, tx, who, n.WorkspaceID.Value); err != nil {
			return site, nil, err
		}
		now := s.now()
		site = n.Apply(cms.Site{
			ID: cms.NewID(), WorkspaceID: who.WorkspaceID(), PublicAPIKey: cms.NewSiteKey(), KeyAccess: cms.AccessDraft,
			LocaleMode: cms.LocalesInternal, AutoRedirects: true, CreatedAt: now, UpdatedAt: now,
		})
		site.DefaultLocale = cms.Locale{
			ID: cms.NewID(), SiteID: site.ID, Code: n.DefaultLocale.Or(cms.DefaultLocaleCode), CreatedAt: now,
		}
		site.DefaultLocaleID = site.DefaultLocale.ID
		if err := tx.CreateSite(ctx, site); err != nil {
			return site, nil, err
		}
		if err := tx.CreateLocale(ctx, site.DefaultLocale); err != nil {
			return site, nil, err
		}
		return site, wroteSite(nil, site), checkQuota(ctx, tx, who, cms.Usage{Sites: 1})
	})
}

// UpdateSite changes a site.
func (s *Service) UpdateSite(ctx context.Context, who Caller, id cms.ID, in Input[cms.SitePatch], match Match[cms.Site]) (cms.Site, error) {
	return inSite(ctx, s, who, ofSite(id), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (cms.Site, []written, error) {
		patch, err := in()
		if err == nil {
			err = match.check(f.site)
		}
		after := patch.Apply(f.site)
		if err == nil {
			err = s.patchLocales(ctx, tx, &after, slices.Clone(f.locales), patch)
		}
		if err != nil || reflect.DeepEqual(f.site, after) {
			return after, nil, err
		}
		after.UpdatedAt = s.now()
		return after, wroteSite(f.site, after), tx.UpdateSite(ctx, after)
	})
}

// patchLocales applies the parts of a patch that are about locales: which one is
// the default, its path prefix, and the origin of those without a domain.
func (s *Service) patchLocales(ctx context.Context, tx cms.Tx, site *cms.Site, locales cms.Locales, patch cms.SitePatch) error {
	if !patch.DefaultLocale.Set && !patch.DefaultLocalePathPrefix.Set && !patch.HostOrigin.Set {
		return nil
	}
	locale, added := site.DefaultLocale, cms.NoID
	if code := patch.DefaultLocale.Or(locale.Code); code != locale.Code {
		var ok bool
		if locale, ok = locales.ByCode(code); !ok {
			locale = cms.Locale{
				ID: cms.NewID(), SiteID: site.ID, Code: code, PathPrefix: patch.DefaultLocalePathPrefix.Value, CreatedAt: s.now(),
			}
			if err := tx.CreateLocale(ctx, locale); err != nil {
				return err
			}
			locales, added = append(locales, locale), locale.ID
		}
		if err := changeDefault(ctx, tx, *site, locales, locale.ID); err != nil {
			return err
		}
		site.DefaultLocaleID = locale.ID
	}
	if patch.DefaultLocalePathPrefix.Set {
		locale.PathPrefix = patch.DefaultLocalePathPrefix.Value
		if err := tx.UpdateLocale(ctx, locale); err != nil {
			return err
		}
		locales[slices.IndexFunc(locales, func(l cms.Locale) bool { return l.ID == locale.ID })] = locale
	}
	site.DefaultLocale = locale
	if err := locales.CheckPlaces(*site); err != nil {
		return err
	}
	return siteSnapshot{site: *site, locales: locales}.refuseMovedCircles(ctx, tx, added)
}

// rebaseChunk is how many pages are rewritten at a time when the default
// locale changes.
const rebaseChunk = 200

// changeDefault rewrites the pages that the new default locale overrides, in both
// versions, so that every locale still shows the same.
func changeDefault(ctx context.Context, tx cms.Tx, site cms.Site, locales cms.Locales, newDefault cms.ID) error {
	all := make([]cms.ID, len(locales))
	for i, l := range locales {
		all[i] = l.ID
	}
	rebase := func(before *cms.Page) cms.PageChange {
		return cms.PageChange{Before: before, After: new(before.Rebase(site.DefaultLocaleID, newDefault, all))}
	}
	for _, version := range []cms.Version{cms.Draft, cms.Live} {
		ids, err := tx.LocalizedPages(ctx, site.ID, version, newDefault)
		if err != nil {
			return err
		}
		// Pages may swap pathnames, so all are released before any is taken.
		var claims []cms.Claim
		for chunk := range slices.Chunk(ids, rebaseChunk) {
			pages, err := tx.PagesByID(ctx, site.ID, version, chunk)
			if err != nil {
				return err
			}
			var released []cms.Claim
			var changes []cms.PageChange
			for _, page := range pages {
				c := rebase(page)
				released = append(released, c.Before.Claims(locales)...)
				claims = append(claims, c.After.Claims(locales)...)
				changes = append(changes, c)
			}
			if err := tx.ReleasePathnames(ctx, site.ID, released); err != nil {
				return err
			}
			if err := tx.UpdatePages(ctx, changes); err != nil {
				return err
			}
		}
		if err := tx.TakePathnames(ctx, site.ID, claims); err != nil {
			return err
		}
	}
	return changePastDefault(ctx, tx, site.ID, newDefault, rebase)
}

// changePastDefault does the same to what was live after earlier publishes.
func changePastDefault(ctx context.Context, tx cms.Tx, siteID, newDefault cms.ID, rebase func(*cms.Page) cms.PageChange) error {
	ids, err := tx.PastLocalized(ctx, siteID, newDefault)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(ids, rebaseChunk) {
		states, err := tx.PastPages(ctx, siteID, chunk)
		if err != nil {
			return err
		}
		var changes []cms.PageChange
		for i, state := range states {
			if _, ok := state.Localizations[newDefault]; ok {
				changes = append(changes, rebase(&states[i]))
			}
		}
		if err := tx.UpdatePastPages(ctx, siteID, changes); err != nil {
			return err
		}
	}
	return nil
}

// DeleteSite deletes a site; it can be restored until it is purged.
func (s *Service) DeleteSite(ctx context.Context, who Caller, id cms.ID, match Match[cms.Site]) error {
	_, err := inSite(ctx, s, who, ofSite(id), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (cms.Site, []written, error) {
		site := f.site
		if err := match.check(site); err != nil {
			return site, nil, err
		}
		site.DeletedAt = new(s.now())
		return site, wroteSite(f.site, site), tx.UpdateSite(ctx, site)
	})
	return err
}

// RestoreSite restores a deleted site with all that it has.
func (s *Service) RestoreSite(ctx context.Context, who Caller, id cms.ID, body Empty) (cms.Site, error) {
	t := ofSite(id)
	t.deleted = true
	return inSite(ctx, s, who, t, cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (cms.Site, []written, error) {
		site := f.site
		if err := body.check(); err != nil {
			return site, nil, err
		}
		if site.DeletedAt == nil {
			return site, nil, cms.Conflict("The site is not deleted")
		}
		site.DeletedAt, site.UpdatedAt = nil, s.now()
		if err := tx.UpdateSite(ctx, site); err != nil {
			return site, nil, err
		}
		return site, wroteSite(nil, site), checkSiteQuota(ctx, tx, who, id)
	})
}

// RotateSiteKey replaces the public key of a site.
func (s *Service) RotateSiteKey(ctx context.Context, who Caller, id cms.ID, in Input[cms.RotateKey]) (cms.Site, error) {
	return inSite(ctx, s, who, ofSite(id), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (cms.Site, []written, error) {
		site := f.site
		rotate, err := in()
		if err != nil {
			return site, nil, err
		}
		site.PublicAPIKey, site.UpdatedAt = cms.NewSiteKey(), s.now()
		return site, wroteSite(f.site, site), tx.RotateSiteKey(ctx, site, rotate.Ends(site.UpdatedAt))
	})
}

// DuplicateSite copies a site with its locales, routes and pages.
func (s *Service) DuplicateSite(ctx context.Context, who Caller, id cms.ID, in Input[cms.DuplicateSite]) (cms.Site, error) {
	return inSite(ctx, s, who, ofSite(id), cms.LockExclusive, func(tx cms.Tx, f siteSnapshot) (twin cms.Site, _ []written, err error) {
		if err := who.mayCreateSites(); err != nil {
			return twin, nil, err
		}
		need(ctx, func(n *cms.Needs) { n.Site = new(cms.NoID) })
		ask, err := in()
		if err == nil {
			err = checkCopyQuota(ctx, tx, who, id)
		}
		if err != nil {
			return twin, nil, err
		}
		now := s.now()
		twin = f.site
		twin.ID, twin.Name, twin.PublicAPIKey = cms.NewID(), ask.Name.Value, cms.NewSiteKey()
		twin.CreatedAt, twin.UpdatedAt = now, now
		localeIDs := map[cms.ID]cms.ID{}
		var copies cms.Locales
		for _, l := range f.locales {
			if l.DeletedAt != nil {
				continue
			}
			c := l
			c.ID, c.SiteID, c.CreatedAt = cms.NewID(), twin.ID, now
			if l.ID == f.site.DefaultLocaleID {
				twin.DefaultLocaleID, twin.DefaultLocale = c.ID, c
			}
			localeIDs[l.ID] = c.ID
			copies = append(copies, c)
		}
		if err := tx.CreateSite(ctx, twin); err != nil {
			return twin, nil, err
		}
		for _, l := range copies {
			if err := tx.CreateLocale(ctx, l); err != nil {
				return twin, nil, err
			}
		}
		rows, err := tx.CopySite(ctx, id, twin.ID, localeIDs, now)
		if err != nil {
			return twin, nil, err
		}
		touched(ctx, rows)
		if err := firstPublish(ctx, tx, who, twin.ID, now); err != nil {
			return twin, nil, err
		}
		return twin, wroteSite(nil, twin), checkSiteQuota(ctx, tx, who, twin.ID)
	})
}

// firstPublish notes the live version of a copied site, if it has one, as its
// first publish.
func firstPublish(ctx context.Context, tx cms.Tx, who Caller, siteID cms.ID, now time.Time) error {
	_, changes, err := tx.CountPages(ctx, siteID, cms.Live)
	if err != nil {
		return err
	}
	redirects, err := tx.CountRedirects(ctx, siteID, cms.Live)
	if changes += redirects; err != nil || changes == 0 {
		return err
	}
	return tx.CreatePublish(ctx, cms.Publish{
		ID: cms.NewID(), SiteID: siteID, Seq: 1, Status: cms.StatusPublished, PublishedAt: &now, ChangeCount: changes,
		CreatedAt: now, CreatedBy: who.ID(), Actor: who.Request.Actor,
	})
}

// purgeSite is the operation by which deleted sites are removed for good.
const purgeSite = "purgeSite"

// purgeChunk is how many sites one transaction purges.
const purgeChunk = 1

// PurgeSites removes for good the sites that were deleted longer ago than the
// retention, and returns how many.
func (s *Service) PurgeSites(ctx context.Context, retention time.Duration) (int, error) {
	total := 0
	for {
		if err := s.NumberEvents(ctx); err != nil { // only those that are numbered are purged
			return total, err
		}
		n := 0
		err := s.write(ctx, func(tx cms.Tx) error {
			sites, err := tx.PurgeSites(ctx, s.now().Add(-retention), purgeChunk)
			n = len(sites)
			for _, site := range sites {
				site.DeletedAt = nil // the entry shows what was purged
				by := systemActor(site.WorkspaceID, purgeSite)
				if err := s.record(ctx, tx, by, written{kind: cms.KindSite, id: site.ID, siteID: site.ID, before: site}); err != nil {
					return err
				}
			}
			return err
		})
		total += n
		if err != nil || n == 0 {
			return total, err
		}
	}
}

// wroteSite is a write of a site; before is nil for a new one.
func wroteSite(before any, after cms.Site) []written {
	return []written{{kind: cms.KindSite, id: after.ID, siteID: after.ID, before: before, after: after}}
}
