package storetest

import (
	"errors"
	"fmt"
	"testing"

	"galley/internal/cms"
)

func take(t *testing.T, store cms.Store, siteID cms.ID, claims ...cms.Claim) error {
	t.Helper()
	return store.InTx(t.Context(), func(tx cms.Tx) error { return tx.TakePathnames(t.Context(), siteID, claims) })
}

func claimTaken(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	other := aSite(t, store)
	holder, rival := cms.NewID(), cms.NewID()
	must(t, take(t, store, site.ID,
		cms.Claim{Version: cms.Draft, Pathname: "/x", Owner: holder},
		cms.Claim{Version: cms.Draft, LocaleID: french, Pathname: "/x", Owner: holder}))
	for _, c := range []struct {
		name   string
		siteID cms.ID
		claim  cms.Claim
		taken  bool
	}{
		{"the same", site.ID, cms.Claim{Pathname: "/x", Owner: rival}, true},
		{"the same by a route", site.ID, cms.Claim{Pathname: "/x", Owner: rival, ByRoute: true}, true},
		{"the same again by its holder", site.ID, cms.Claim{Pathname: "/x", Owner: holder}, true},
		{"in the same locale", site.ID, cms.Claim{LocaleID: french, Pathname: "/x", Owner: rival}, true},
		{"in another locale", site.ID, cms.Claim{LocaleID: german, Pathname: "/x", Owner: rival}, false},
		{"in the other version", site.ID, cms.Claim{Version: cms.Live, Pathname: "/x", Owner: rival}, false},
		{"in another site", other.ID, cms.Claim{Pathname: "/x", Owner: rival}, false},
	} {
		before := allClaims(t, store, c.siteID, "/x", "/beside")
		beside := c.claim
		beside.Pathname = "/beside" // what is taken along with it goes the same way
		err := take(t, store, c.siteID, beside, c.claim)
		if !c.taken {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		wantTaken(t, c.name, err)
		same(t, c.name+": nothing changed", allClaims(t, store, c.siteID, "/x", "/beside"), before)
	}
}

func claimRefusalIsHarmless(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	holder := newPage(site.ID, "/x")
	createPages(t, store, holder)
	second := newPage(site.ID, "/y")
	write(t, store, func(tx cms.Tx) error {
		err := tx.TakePathnames(t.Context(), site.ID, []cms.Claim{{Pathname: "/x", Owner: second.ID}})
		if !errors.Is(err, cms.ErrPathnameTaken) {
			return fmt.Errorf("got %w, want %w", err, cms.ErrPathnameTaken)
		}
		if err := tx.CreatePages(t.Context(), second); err != nil {
			return err
		}
		return tx.TakePathnames(t.Context(), site.ID, second.Claims(nil))
	})
	same(t, "Page", value(store.Page(t.Context(), site.ID, cms.Draft, second.ID))(t), second)
	same(t, "Claims", allClaims(t, store, site.ID, "/x", "/y"), append(holder.Claims(nil), second.Claims(nil)...))
}

func claimFree(t *testing.T, store cms.Store) {
	site, french, _ := twoLocales(t, store)
	other := aSite(t, store)
	must(t, take(t, store, site.ID,
		cms.Claim{Pathname: "/default", Owner: cms.NewID()},
		cms.Claim{LocaleID: french, Pathname: "/french", Owner: cms.NewID()},
		cms.Claim{Pathname: "/route", Owner: cms.NewID(), ByRoute: true}))
	takeFree := func(siteID cms.ID, claim cms.Claim) error {
		return store.InTx(t.Context(), func(tx cms.Tx) error {
			if err := tx.TakeFreePathname(t.Context(), siteID, claim); !errors.Is(err, cms.ErrPathnameTaken) {
				return err
			}
			claim.Pathname += "/beside" // a refusal leaves the transaction usable
			return errors.Join(tx.TakeFreePathname(t.Context(), siteID, claim), cms.ErrPathnameTaken)
		})
	}
	for _, pathname := range []string{"/default", "/french", "/route"} {
		before := allClaims(t, store, site.ID, pathname)
		claim := cms.Claim{Pathname: pathname, Owner: cms.NewID()}
		err := takeFree(site.ID, claim)
		wantTaken(t, pathname, err)
		same(t, pathname+": nothing changed", allClaims(t, store, site.ID, pathname), before)
		must(t, takeFree(other.ID, claim))
		same(t, pathname+" in another site", allClaims(t, store, other.ID, pathname), []cms.Claim{claim})
		claim.Version = cms.Live
		must(t, takeFree(site.ID, claim))
	}
	free := cms.Claim{LocaleID: french, Pathname: "/free", Owner: cms.NewID()}
	must(t, takeFree(site.ID, free))
	same(t, "free", allClaims(t, store, site.ID, "/free"), []cms.Claim{free})
}

func claimRelease(t *testing.T, store cms.Store) {
	site, french, _ := twoLocales(t, store)
	other := aSite(t, store)
	owner := cms.NewID()
	all := []cms.Claim{
		{Version: cms.Draft, Pathname: "/x", Owner: owner},
		{Version: cms.Draft, LocaleID: french, Pathname: "/x", Owner: owner},
		{Version: cms.Draft, Pathname: "/y", Owner: owner},
		{Version: cms.Live, Pathname: "/x", Owner: owner},
	}
	must(t, take(t, store, site.ID, all...))
	must(t, take(t, store, other.ID, all[0]))
	release := func(claims ...cms.Claim) {
		t.Helper()
		write(t, store, func(tx cms.Tx) error { return tx.ReleasePathnames(t.Context(), site.ID, claims) })
	}
	stranger := all[0]
	stranger.Owner = cms.NewID()
	release()
	release(stranger, cms.Claim{Pathname: "/unknown", Owner: owner})
	same(t, "after a stranger's release", allClaims(t, store, site.ID, "/x", "/y"), all)

	release(all[0])
	same(t, "after a release", allClaims(t, store, site.ID, "/x", "/y"), all[1:])
	same(t, "in another site", allClaims(t, store, other.ID, "/x"), all[:1])
	must(t, take(t, store, site.ID, stranger))
}

func claimsFound(t *testing.T, store cms.Store) {
	site, french, german := twoLocales(t, store)
	owner, route := cms.NewID(), cms.NewID()
	claims := []cms.Claim{
		{Version: cms.Draft, Pathname: "/x", Owner: owner},
		{Version: cms.Draft, LocaleID: french, Pathname: "/x", Owner: owner},
		{Version: cms.Draft, LocaleID: german, Pathname: "/x", Owner: cms.NewID()},
		{Version: cms.Draft, Pathname: "/y", Owner: route, ByRoute: true},
		{Version: cms.Live, Pathname: "/y", Owner: route, ByRoute: true},
	}
	must(t, take(t, store, site.ID, append(claims, cms.Claim{Pathname: "/unasked", Owner: owner})...))
	sortClaims(claims)
	same(t, "some", allClaims(t, store, site.ID, "/x", "/y", "/z"), claims)

	many := make([]string, 2000) // a batch of 1,000 pages may ask for two each
	for i := range many {
		many[i] = fmt.Sprintf("/many/%d", i)
	}
	same(t, "among many", allClaims(t, store, site.ID, append(many, "/x", "/y")...), claims)
	sameList(t, "none", allClaims(t, store, site.ID), nil)
	sameList(t, "of another site", allClaims(t, store, aSite(t, store).ID, "/x", "/y"), nil)
}

func claimLetters(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	names := []string{"/a", "/A", "/a ", "/á", "/a\u0301", "/a/", "/a%", "/a_", "/ａ", "/ß", "/ss"}
	var want []cms.Claim
	for _, name := range names {
		want = append(want, cms.Claim{Pathname: name, Owner: cms.NewID()})
	}
	must(t, take(t, store, site.ID, want...))
	for i, name := range names {
		same(t, fmt.Sprintf("%q", name), allClaims(t, store, site.ID, name), want[i:i+1])
	}
}
