package sqlstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"galley/internal/cms"
)

// siteTables finds the tables whose rows belong to a site, those of later
// migrations included.
var siteTables = map[string]string{
	"sqlite": `select m.name from sqlite_master m join pragma_table_info(m.name) c
		where m.type = 'table' and c.name = 'site_id'`,
	"postgres": `select table_name from information_schema.columns where table_schema = 'public' and column_name = 'site_id'`,
}

func TestPurgeLeavesNoRowBehind(t *testing.T) {
	for name, s := range map[string]*Store{"sqlite": sqliteForTest(t), "postgres": postgresForTest(t)} {
		t.Run(name, func(t *testing.T) {
			site, bystander := seedSite(t, s), seedSite(t, s)
			for _, site := range []cms.Site{site, bystander} {
				furnish(t, s, site)
			}
			before := rowsOf(t, s, name, bystander.ID)
			for _, table := range []string{"page", "pathname", "route", "locale", "directory", "site_key"} {
				if before[table] == 0 {
					t.Fatalf("a furnished site has no row in %s: %v", table, before)
				}
			}

			site.DeletedAt = new(time.Unix(0, 0))
			do(t, s.InTx(t.Context(), func(tx cms.Tx) error {
				if err := tx.UpdateSite(t.Context(), site); err != nil {
					return err
				}
				_, err := tx.PurgeSites(t.Context(), time.Now(), 10)
				return err
			}))
			for table, n := range rowsOf(t, s, name, site.ID) {
				if n != 0 {
					t.Errorf("%d rows are left in %s", n, table)
				}
			}
			if after := rowsOf(t, s, name, bystander.ID); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("another site had %v rows and has %v", before, after)
			}
		})
	}
}

// Whoever is restoring a site has it, and whoever comes after its end finds
// nothing: an answered restore is never undone by a purge.
func TestPurgeAndRestoreExcludeEachOther(t *testing.T) {
	s := postgresForTest(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	site := seedSite(t, s)
	site.DeletedAt = new(time.Unix(0, 0))
	do(t, s.InTx(ctx, func(tx cms.Tx) error { return tx.UpdateSite(ctx, site) }))
	purge := func(tx cms.Tx) (n int, err error) {
		sites, err := tx.PurgeSites(ctx, time.Now(), 10)
		return len(sites), err
	}
	do(t, s.InTx(ctx, func(tx cms.Tx) error {
		restored, err := tx.LockSite(ctx, site.ID, cms.LockExclusive)
		if err != nil {
			return err
		}
		do(t, s.InTx(ctx, func(other cms.Tx) error {
			if n, err := purge(other); n != 0 || err != nil {
				t.Errorf("%d sites are purged while one is restored, %v", n, err)
			}
			return nil
		}))
		restored.DeletedAt = nil
		return tx.UpdateSite(ctx, restored)
	}))
	found, err := s.Site(ctx, site.ID)
	if do(t, err); found.DeletedAt != nil {
		t.Error("the site is not restored")
	}

	do(t, s.InTx(ctx, func(tx cms.Tx) error { return tx.UpdateSite(ctx, site) }))
	restoring := make(chan error, 1)
	do(t, s.InTx(ctx, func(tx cms.Tx) error {
		if n, err := purge(tx); n != 1 || err != nil {
			t.Errorf("%d sites are purged, %v", n, err)
		}
		go func() {
			restoring <- s.InTx(ctx, func(tx cms.Tx) error {
				_, err := tx.LockSite(ctx, site.ID, cms.LockExclusive)
				return err
			})
		}()
		select {
		case err := <-restoring:
			t.Errorf("a site that is being purged can be locked, %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		return nil
	}))
	if err := <-restoring; cms.CodeOf(err) != cms.CodeNotFound {
		t.Errorf("who restores a site that was purged is told %v", err)
	}
}

func rowsOf(t *testing.T, s *Store, engine string, siteID cms.ID) map[string]int {
	t.Helper()
	tables, err := values[string](t.Context(), s.queries, siteTables[engine])
	do(t, err)
	counts := map[string]int{}
	for _, table := range tables {
		n, err := value[int](t.Context(), s.queries, `select count(*) from `+table+` where site_id = ?`, siteID)
		do(t, err)
		counts[table] = n
	}
	return counts
}

// furnish gives a site a row in every table.
func furnish(t *testing.T, s *Store, site cms.Site) {
	t.Helper()
	p := seedPage(site.ID, "/page")
	p.Localizations = map[cms.ID]cms.Localization{cms.NewID(): {Own: cms.FieldTitle, Values: cms.Values{Pathname: "/page"}}}
	live := p
	live.Version = cms.Live
	r := cms.Route{ID: cms.NewID(), SiteID: site.ID, Pathname: "/route", CreatedAt: time.Now()}
	rotated := site
	rotated.PublicAPIKey = cms.NewSiteKey()
	for _, step := range []func(tx cms.Tx) error{
		func(tx cms.Tx) error { return tx.CreatePages(t.Context(), p) },
		func(tx cms.Tx) error { return tx.UpdatePage(t.Context(), cms.Page{}, live) },
		func(tx cms.Tx) error { return tx.CreateRoute(t.Context(), r) },
		func(tx cms.Tx) error {
			return tx.TakePathnames(t.Context(), site.ID, append(p.Claims(nil), r.Claims()...))
		},
		func(tx cms.Tx) error { return tx.TakePathnames(t.Context(), site.ID, live.Claims(nil)) },
		func(tx cms.Tx) error { return tx.RotateSiteKey(t.Context(), rotated, time.Now()) },
	} {
		do(t, s.InTx(t.Context(), step))
	}
}
