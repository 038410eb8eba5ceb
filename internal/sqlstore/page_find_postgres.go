package sqlstore

import (
	"context"

	"galley/internal/cms"
)

// finders find pages for several who ask at the same time.
type finders struct {
	byID       [2]gathering[cms.ID, []cms.FoundPage] // by version: draft, live
	byPathname [2]gathering[sitePath, []cms.FoundPage]
}

type sitePath struct {
	siteID   cms.ID
	pathname string
}

func newFinders(q queries) *finders {
	f := &finders{}
	for _, version := range []cms.Version{cms.Draft, cms.Live} {
		f.byID[version].read = func(ctx context.Context, ids []cms.ID) (map[cms.ID][]cms.FoundPage, error) {
			return q.findByIDs(ctx, version, ids)
		}
		f.byPathname[version].read = func(ctx context.Context, paths []sitePath) (map[sitePath][]cms.FoundPage, error) {
			return q.findByPathnames(ctx, version, paths)
		}
	}
	return f
}

// Here and below, the offsets keep PostgreSQL from joining tables as wholes, and
// the select around a parameter from counting its elements: for fewer than it
// assumes of any array, it would make a plan each time, which takes it longer
// than to carry it out. The shapes come afterwards: it would read a table of
// up to some hundred sites from one end to the other for each row.

func (q queries) findByIDs(ctx context.Context, version cms.Version, ids []cms.ID) (map[cms.ID][]cms.FoundPage, error) {
	if len(ids) == 1 {
		pages, err := q.findByID(ctx, version, ids[0])
		return map[cms.ID][]cms.FoundPage{ids[0]: pages}, err
	}
	wanted, kind := arrayOf(anys(ids))
	rows, err := all(ctx, q, scanFoundRow, queryByIDs(version, kind), wanted)
	return foundFor(rows, func(r foundRow) cms.ID { return r.ID }), err
}

func queryByIDs(version cms.Version, kind string) string {
	return `select ` + prefixed + `, s.shape from (select ` + prefixed + `
		from unnest((select cast(? as ` + kind + `))) wanted (id) cross join lateral (select ` + columnsOf("o") + ` from page o
			where o.site_id = (select d.site_id from directory d where d.id = wanted.id) and o.` + is(version) + ` and o.id = wanted.id
			offset 0) p offset 0) p join site s on s.id = p.site_id`
}

func (q queries) findByPathnames(ctx context.Context, version cms.Version, paths []sitePath) (map[sitePath][]cms.FoundPage, error) {
	if len(paths) == 1 {
		pages, err := q.findByPathname(ctx, paths[0].siteID, version, paths[0].pathname)
		return map[sitePath][]cms.FoundPage{paths[0]: pages}, err
	}
	siteIDs, pathnames := make([]any, len(paths)), make([]any, len(paths))
	for i, p := range paths {
		siteIDs[i], pathnames[i] = p.siteID, p.pathname
	}
	sites, siteKind := arrayOf(siteIDs)
	names, nameKind := arrayOf(pathnames)
	rows, err := all(ctx, q, func(r row) (f foundRow, err error) {
		f.PageRow, err = scanPageRow(withColumn(withColumn(withColumn(r, &f.shape), &f.asked), &f.claimed))
		return f, err
	}, `select `+prefixed+`, p.claimed, p.asked, s.shape from (select `+prefixed+`, p.claimed, wanted.pathname as asked
		from unnest((select cast(? as `+siteKind+`)), (select cast(? as `+nameKind+`))) wanted (site_id, pathname) cross join lateral (
			select `+columnsOf("o")+`, c.locale_id as claimed from pathname c join page o on o.site_id = c.site_id and o.`+is(version)+` and o.id = c.owner_id
			where c.site_id = wanted.site_id and c.`+is(version)+` and c.pathname = wanted.pathname and not c.by_route
			offset 0) p offset 0) p join site s on s.id = p.site_id`, sites, names)
	return foundFor(rows, func(r foundRow) sitePath { return sitePath{r.SiteID, r.asked} }), err
}

// foundFor gives each key its pages.
func foundFor[K comparable](rows []foundRow, key func(foundRow) K) map[K][]cms.FoundPage {
	byKey := map[K][]foundRow{}
	for _, r := range rows {
		byKey[key(r)] = append(byKey[key(r)], r)
	}
	found := make(map[K][]cms.FoundPage, len(byKey))
	for k, rows := range byKey {
		found[k] = foundPages(rows)
	}
	return found
}
