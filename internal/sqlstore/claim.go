package sqlstore

import (
	"context"
	"slices"

	"galley/internal/cms"
)

const claimColumns = `pathname (site_id, version, pathname, locale_id, owner_id, by_route, by_redirect)`

func scanClaim(r row) (cms.Claim, error) {
	var c cms.Claim
	return c, r.Scan(&c.Version, &c.LocaleID, &c.Pathname, &c.Owner, &c.ByRoute, &c.ByRedirect)
}

func (q queries) Claims(ctx context.Context, siteID cms.ID, version cms.Version, pathnames []string) ([]cms.Claim, error) {
	if len(pathnames) == 0 {
		return nil, nil
	}
	if _, past := version.Past(); past {
		return q.pastClaims(ctx, siteID, version, pathnames)
	}
	if err := q.refreshStatistics(ctx, siteID, len(pathnames)); err != nil {
		return nil, err
	}
	where, args := q.dialect.among("pathname", anys(pathnames))
	return all(ctx, q, scanClaim, `select version, locale_id, pathname, owner_id, by_route, by_redirect from pathname
		where site_id = ? and version = ? and `+where, slices.Concat([]any{siteID, version}, args)...)
}

func (q queries) ReleasePathnames(ctx context.Context, siteID cms.ID, claims []cms.Claim) error {
	var args []any
	for _, c := range claims {
		args = append(args, siteID, c.Version, c.Pathname, c.LocaleID, c.Owner)
	}
	return q.deleteEach(ctx, "pathname", `site_id = ? and version = ? and pathname = ? and locale_id = ? and owner_id = ?`, 5, args)
}

func (q queries) TakePathnames(ctx context.Context, siteID cms.ID, claims []cms.Claim) error {
	var args []any
	for _, c := range claims {
		args = append(args, siteID, c.Version, c.Pathname, c.LocaleID, c.Owner, c.ByRoute, c.ByRedirect)
	}
	// The key decides between two concurrent claims of a pathname. A failed insert,
	// unlike one that does nothing, would end the transaction.
	n, err := q.insert(ctx, true, claimColumns, 7, args, ` on conflict do nothing`)
	if err == nil && n < int64(len(claims)) {
		err = cms.ErrPathnameTaken
	}
	return err
}

func (q queries) TakeFreePathname(ctx context.Context, siteID cms.ID, c cms.Claim) error {
	n, err := q.exec(ctx, `insert into `+claimColumns+` select `+marks(7)+` where not exists (select 1 from pathname where site_id = ? and version = ? and pathname = ?)
		on conflict do nothing`,
		siteID, c.Version, c.Pathname, c.LocaleID, c.Owner, c.ByRoute, c.ByRedirect, siteID, c.Version, c.Pathname)
	if err == nil && n == 0 {
		err = cms.ErrPathnameTaken
	}
	return err
}

// pastClaims returns the claims of pages in a version that was live. Routes have no
// versions.
func (q queries) pastClaims(ctx context.Context, siteID cms.ID, version cms.Version, pathnames []string) ([]cms.Claim, error) {
	locales, err := values[cms.ID](ctx, q, `select id from locale where site_id = ?`, siteID)
	if err != nil {
		return nil, err
	}
	locales = append(locales, cms.NoID)
	where, args := q.dialect.among("p.pathname", anys(pathnames))
	var claims []cms.Claim
	for some := range slices.Chunk(locales, idChunk) {
		rows, err := q.pageRows(ctx, siteID, version,
			`p.locale_id in (`+marks(len(some))+`) and p.state in (?, ?) and `+where,
			slices.Concat(anys(some), []any{stateOnline, stateOffline}, args)...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if r.Own.Has(cms.FieldPathname) {
				claims = append(claims, cms.Claim{Version: version, LocaleID: r.LocaleID, Pathname: r.Values.Pathname, Owner: r.ID})
			}
		}
	}
	return claims, nil
}
