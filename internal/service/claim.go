package service

import (
	"context"
	"slices"

	"galley/internal/cms"
)

// pageReader reads a page as it is by now.
type pageReader func(ctx context.Context, siteID cms.ID, version cms.Version, id cms.ID) (cms.Page, error)

// moveClaims gives up the pathnames of before and takes those of after, for a
// page or a route. page is the page as it will be; the zero page for a route.
// Others' are read by the reader.
func moveClaims(ctx context.Context, tx cms.Tx, others pageReader, siteID cms.ID, page cms.Page, before, after []cms.Claim) error {
	released := without(before, after)
	taken := without(after, before)
	if len(released) == 0 && len(taken) == 0 {
		return nil
	}
	if err := checkClaims(ctx, tx, others, siteID, page, after); err != nil {
		return err
	}
	if err := tx.ReleasePathnames(ctx, siteID, released); err != nil {
		return err
	}
	return tx.TakePathnames(ctx, siteID, taken)
}

func without(claims, others []cms.Claim) []cms.Claim {
	return slices.DeleteFunc(slices.Clone(claims), func(c cms.Claim) bool { return slices.Contains(others, c) })
}

// checkClaims refuses claims that clash with what others hold.
func checkClaims(ctx context.Context, tx cms.Tx, others pageReader, siteID cms.ID, page cms.Page, claims []cms.Claim) error {
	for _, version := range []cms.Version{cms.Draft, cms.Live} {
		var pathnames []string
		for _, c := range claims {
			if c.Version == version {
				pathnames = append(pathnames, c.Pathname)
			}
		}
		held, err := tx.Claims(ctx, siteID, version, pathnames)
		if err != nil {
			return err
		}
		overrides := func(id, locale cms.ID) (bool, error) {
			p := page
			if id != page.ID {
				if p, err = others(ctx, siteID, version, id); err != nil {
					return false, err
				}
			}
			return p.Localizations[locale].Own.Has(cms.FieldPathname), nil
		}
		for _, c := range claims {
			for _, h := range held {
				if c.Version != h.Version || c.Pathname != h.Pathname {
					continue
				}
				clash, err := c.Clashes(h, overrides)
				if err != nil {
					return err
				}
				if clash {
					return cms.ErrPathnameTaken
				}
			}
		}
	}
	return nil
}
