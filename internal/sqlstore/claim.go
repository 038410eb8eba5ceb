package sqlstore

import (
	"context"

	"galley/internal/cms"
)

func scanClaim(r row) (cms.Claim, error) {
	var c cms.Claim
	return c, r.Scan(&c.Version, &c.LocaleID, &c.Pathname, &c.Owner, &c.ByRoute)
}

func (q queries) Claims(ctx context.Context, siteID cms.ID, version cms.Version, pathnames []string) ([]cms.Claim, error) {
	if len(pathnames) == 0 {
		return nil, nil
	}
	return all(ctx, q, scanClaim, `select version, locale_id, pathname, owner_id, by_route from pathname
		where site_id = ? and version = ? and pathname in (`+marks(len(pathnames))+`)`,
		append([]any{siteID, version}, anys(pathnames)...)...)
}

func (q queries) ReleasePathnames(ctx context.Context, siteID cms.ID, claims []cms.Claim) error {
	for _, c := range claims {
		err := q.run(ctx, `delete from pathname where site_id = ? and version = ? and pathname = ? and locale_id = ?
			and owner_id = ?`, siteID, c.Version, c.Pathname, c.LocaleID, c.Owner)
		if err != nil {
			return err
		}
	}
	return nil
}

func (q queries) TakePathnames(ctx context.Context, siteID cms.ID, claims []cms.Claim) error {
	for _, c := range claims {
		// The key decides between two that race for a pathname; an insert
		// that does nothing, unlike one that fails, leaves the transaction
		// usable.
		n, err := q.exec(ctx, `insert into pathname (site_id, version, pathname, locale_id, owner_id, by_route)
			values (`+marks(6)+`) on conflict do nothing`, siteID, c.Version, c.Pathname, c.LocaleID, c.Owner, c.ByRoute)
		if err != nil {
			return err
		}
		if n == 0 {
			return cms.ErrPathnameTaken
		}
	}
	return nil
}
