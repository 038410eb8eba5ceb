package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"galley/internal/cms"
)

// claimMove is what a page, route or redirect holds before and after a write. page is
// the page as it will be, and nil for the others.
type claimMove struct {
	page          *cms.Page
	before, after []cms.Claim
}

// clash is a claim that conflicts with another one.
type clash struct{ claim, other cms.Claim }

// err is the error for a single write.
func (c clash) err() *cms.Error {
	if c.other.ByRedirect {
		return cms.ErrRedirectTaken
	}
	return cms.ErrPathnameTaken
}

// pageMoves returns the moves of pages whose pathnames change.
func pageMoves(changes []cms.PageChange, locales cms.Locales) []claimMove {
	var moves []claimMove
	for _, change := range changes {
		var m claimMove
		if change.Before != nil {
			m.before = change.Before.Claims(locales)
		}
		if change.After != nil {
			m.page, m.after = change.After, change.After.Claims(locales)
		}
		if !slices.Equal(m.before, m.after) {
			moves = append(moves, m)
		}
	}
	return moves
}

// moveClaims releases the pathnames of before and takes those of after, unless one
// of them is taken. Automatic redirects give way.
func (s *Service) moveClaims(ctx context.Context, tx cms.Tx, by actor, f siteSnapshot, m claimMove) error {
	if slices.Equal(m.before, m.after) {
		return nil
	}
	clashes, err := findClashes(ctx, tx, f.site.ID, m)
	if err == nil && len(clashes) > 0 {
		clashes, err = s.giveWay(ctx, tx, by, f, clashes)
	}
	if err == nil && len(clashes) > 0 {
		err = clashes[0].err()
	}
	if err != nil {
		return err
	}
	return storeMoves(ctx, tx, f.site.ID, m)
}

// refuseClashes names the pages, routes and redirects that would share a pathname.
func refuseClashes(clashes []clash) error {
	if len(clashes) == 0 {
		return nil
	}
	unique := map[string]bool{}
	for _, c := range clashes {
		unique[claimName(c.claim)], unique[claimName(c.other)] = true, true
	}
	names := slices.Sorted(maps.Keys(unique))
	version := map[cms.Version]string{cms.Draft: "draft", cms.Live: "live version"}[clashes[0].claim.Version]
	return cms.Conflict("A pathname would belong to two pages, routes or redirects of the " + version + ": " +
		strings.Join(names[:min(len(names), maxNamed)], ", "))
}

// maxNamed bounds how many pages an error names.
const maxNamed = 20

func claimName(c cms.Claim) string {
	switch {
	case c.ByRoute:
		return fmt.Sprintf("route %s at %s", c.Owner, c.Pathname)
	case c.ByRedirect:
		return fmt.Sprintf("redirect %s at %s", c.Owner, c.Pathname)
	}
	return fmt.Sprintf("page %s at %s", c.Owner, c.Pathname)
}

// storeMoves stores moves that do not clash. Everything is released before
// anything is taken, so that pages can swap pathnames.
func storeMoves(ctx context.Context, tx cms.Tx, siteID cms.ID, moves ...claimMove) error {
	var released, taken []cms.Claim
	for _, m := range moves {
		released = append(released, without(m.before, m.after)...)
		taken = append(taken, without(m.after, m.before)...)
	}
	if err := tx.ReleasePathnames(ctx, siteID, released); err != nil {
		return err
	}
	return tx.TakePathnames(ctx, siteID, taken)
}

func without(claims, others []cms.Claim) []cms.Claim {
	return slices.DeleteFunc(slices.Clone(claims), func(c cms.Claim) bool { return slices.Contains(others, c) })
}

// findClashes compares the claims after all moves with each other and with
// those of pages and routes that do not move.
func findClashes(ctx context.Context, r cms.Reader, siteID cms.ID, moves ...claimMove) ([]clash, error) {
	drafts, err := clashesIn(ctx, r, siteID, cms.Draft, moves)
	if err != nil {
		return nil, err
	}
	lives, err := clashesIn(ctx, r, siteID, cms.Live, moves)
	return append(drafts, lives...), err
}

func clashesIn(ctx context.Context, r cms.Reader, siteID cms.ID, version cms.Version, moves []claimMove) ([]clash, error) {
	var claims []cms.Claim
	for _, m := range moves {
		for _, c := range m.after {
			if c.Version == version {
				claims = append(claims, c)
			}
		}
	}
	if len(claims) == 0 {
		return nil, nil
	}
	byPathname := make(map[string][]cms.Claim, len(claims))
	for _, c := range claims {
		byPathname[c.Pathname] = append(byPathname[c.Pathname], c)
	}
	moving := make(map[cms.ID]bool, len(moves))
	pages := make(map[cms.ID]*cms.Page, len(moves))
	for _, m := range moves {
		for _, c := range m.before {
			moving[c.Owner] = true
		}
		for _, c := range m.after {
			moving[c.Owner] = true
			pages[c.Owner] = m.page
		}
	}
	for pathnames := range slices.Chunk(slices.Sorted(maps.Keys(byPathname)), dirtyChunk) {
		held, err := r.Claims(ctx, siteID, version, pathnames)
		if err != nil {
			return nil, err
		}
		for _, h := range held {
			if !moving[h.Owner] {
				byPathname[h.Pathname] = append(byPathname[h.Pathname], h)
			}
		}
	}
	var unread []cms.ID
	overrides := func(id, locale cms.ID) bool {
		page := pages[id]
		if page == nil {
			unread = append(unread, id)
			return false
		}
		return page.Localizations[locale].Own.Has(cms.FieldPathname)
	}
	clashes := clashesAmong(claims, byPathname, overrides)
	if len(unread) == 0 {
		return clashes, nil
	}
	for ids := range slices.Chunk(cms.SortIDs(unread), dirtyChunk) {
		others, err := r.PagesByID(ctx, siteID, version, ids)
		if err != nil {
			return nil, err
		}
		maps.Copy(pages, others)
	}
	return clashesAmong(claims, byPathname, overrides), nil
}

func clashesAmong(claims []cms.Claim, byPathname map[string][]cms.Claim, overrides func(page, locale cms.ID) bool) []clash {
	var found []clash
	for _, c := range claims {
		for _, o := range byPathname[c.Pathname] {
			if c.Clashes(o, overrides) {
				found = append(found, clash{c, o})
			}
		}
	}
	return found
}
