package sqlstore

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"galley/internal/cms"
)

// What several find together is what each finds alone.
func TestPagesAreFoundTogetherAsAlone(t *testing.T) {
	s := postgresForTest(t)
	ctx := t.Context()
	first, second := seedSite(t, s), seedSite(t, s)
	french, german := cms.NewID(), cms.NewID()
	ids := []cms.ID{cms.NewID()} // of no page
	var paths []sitePath
	for _, site := range []cms.Site{first, second} {
		for _, pathname := range []string{"/plain", `/a"b\c`, "/{,}", "/ünï", "/null", "/route"} {
			paths = append(paths, sitePath{site.ID, pathname})
			if pathname == "/route" { // nobody's page
				do(t, s.InTx(ctx, func(tx cms.Tx) error {
					return tx.TakePathnames(ctx, site.ID, []cms.Claim{{Pathname: pathname, Owner: cms.NewID(), ByRoute: true}})
				}))
				continue
			}
			page := seedPage(site.ID, pathname)
			claims := []cms.Claim{{Pathname: pathname, Owner: page.ID}}
			for _, locale := range []cms.ID{french, german} {
				path := pathname + "/" + locale.String()
				if locale == french && pathname == "/null" { // it goes by another's pathname there
					path = "/plain"
				}
				page = cms.PagePatch{Pathname: cms.Some(&path)}.Apply(page, locale)
				claims = append(claims, cms.Claim{Pathname: path, LocaleID: locale, Owner: page.ID})
				paths = append(paths, sitePath{site.ID, path})
			}
			do(t, s.InTx(ctx, func(tx cms.Tx) error {
				if err := tx.CreatePages(ctx, page); err != nil {
					return err
				}
				return tx.TakePathnames(ctx, site.ID, claims)
			}))
			ids = append(ids, page.ID)
		}
	}
	paths = slices.Compact(slices.SortedFunc(slices.Values(paths), func(a, b sitePath) int {
		return cmp.Or(cms.CompareIDs(a.siteID, b.siteID), cmp.Compare(a.pathname, b.pathname))
	}))
	alone := queries{conn: s.read, dialect: s.dialect}
	for _, version := range []cms.Version{cms.Draft, cms.Live} {
		together, err := alone.findByIDs(ctx, version, ids)
		do(t, err)
		for _, id := range ids {
			want, err := alone.findByID(ctx, version, id)
			do(t, err)
			wantFound(t, id, together[id], want)
		}
		byPath, err := alone.findByPathnames(ctx, version, paths)
		do(t, err)
		for _, path := range paths {
			want, err := alone.findByPathname(ctx, path.siteID, version, path.pathname)
			do(t, err)
			wantFound(t, path, byPath[path], want)
		}
	}
	if found, err := alone.findByPathname(ctx, first.ID, cms.Draft, "/plain"); len(found) != 2 || err != nil {
		t.Errorf("%d pages hold one pathname, want 2: %v", len(found), err)
	}

	shareAStatement(t, s, ids, paths)
}

// shareAStatement lets readers come while a table is locked: they wait, and then
// share. The first id is no page's.
func shareAStatement(t *testing.T, s *Store, ids []cms.ID, paths []sitePath) {
	t.Helper()
	ctx := t.Context()
	lock, err := s.write.BeginTx(ctx, nil)
	do(t, err)
	_, err = lock.ExecContext(ctx, `lock table page in access exclusive mode`)
	do(t, err)
	var readers sync.WaitGroup
	// While others have every place, nobody overtakes those who wait.
	for i := range maxRounds {
		readers.Go(func() {
			if _, err := s.FindPage(ctx, cms.Draft, cms.NewID()); cms.CodeOf(err) != cms.CodeNotFound {
				t.Errorf("a page that is none was found: %v", err)
			}
		})
		readers.Go(func() {
			if found, err := s.FindPages(ctx, paths[0].siteID, cms.Draft, fmt.Sprintf("/none/%d", i)); len(found) > 0 || err != nil {
				t.Errorf("a page that is none was found: %v %v", found, err)
			}
		})
		until(t, "a place is taken", func() bool {
			return s.finders.byID[cms.Draft].underWay() == i+1 && s.finders.byPathname[cms.Draft].underWay() == i+1
		})
	}
	const each = 3
	for _, id := range ids {
		want := id
		for range each {
			readers.Go(func() {
				found, err := s.FindPage(ctx, cms.Draft, want)
				if want == ids[0] {
					if cms.CodeOf(err) != cms.CodeNotFound {
						t.Errorf("a page that is none was found: %v", err)
					}
					return
				}
				if found.ID != want || err != nil {
					t.Errorf("%s led to %s, %v", want, found.ID, err)
				}
			})
		}
	}
	for _, path := range paths {
		readers.Go(func() {
			if _, err := s.FindPages(ctx, path.siteID, cms.Draft, path.pathname); err != nil {
				t.Error(err)
			}
		})
	}
	until(t, "most readers share a statement", func() bool {
		return s.finders.byID[cms.Draft].waiting() > len(ids)/2 && s.finders.byPathname[cms.Draft].waiting() > len(paths)/2
	})
	do(t, lock.Rollback())
	readers.Wait()
}

func wantFound(t *testing.T, asked any, got, want []cms.FoundPage) {
	t.Helper()
	for _, found := range [][]cms.FoundPage{got, want} {
		slices.SortFunc(found, func(a, b cms.FoundPage) int {
			return cmp.Or(cms.CompareIDs(a.ClaimedIn, b.ClaimedIn), cms.CompareIDs(a.ID, b.ID))
		})
	}
	if len(got) != len(want) || (len(want) > 0 && !reflect.DeepEqual(got, want)) {
		t.Errorf("%v: found together %+v\nand alone %+v", asked, got, want)
	}
}
