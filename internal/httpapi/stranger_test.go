package httpapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"galley/internal/cms"
	"galley/internal/pgtest"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

// On PostgreSQL writers of a site wait for each other. Strangers are refused
// without a wait: it would tell them that something goes on, and take a place
// that others need.
func TestStrangersDoNotWaitForASite(t *testing.T) {
	store, err := sqlstore.OpenPostgres(pgtest.URL(t), nil)
	s := newSystem(t, store, err)
	site, _ := s.newSite(t)
	other, _ := s.newSite(t)
	page := s.newPage(t, site, "/p")
	stranger, err := s.svc.CreateOperatorApp(t.Context(), service.OperatorApp{Name: "Second", Scopes: cms.Scopes, NewWorkspace: "Second"})
	if err != nil {
		t.Fatal(err)
	}
	held, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- store.InTx(context.Background(), func(tx cms.Tx) error {
			_, err := tx.LockSite(context.Background(), uuid.MustParse(site), cms.LockExclusive)
			close(held)
			<-end
			return err
		})
	}()
	<-held
	restricted := s.must(t, 201, "POST", "/v2/apps", `{"name":"Elsewhere","siteIds":["`+other+`"]}`).str(t, "key")
	late := time.AfterFunc(2*time.Minute, func() { close(end) }) // who waits is answered, and found out
	for _, c := range [][3]string{
		{"POST", "/v6/pages", `{"siteId":"` + site + `","pathname":"/q"}`},
		{"POST", "/v6/pages/batch", `{"siteId":"` + site + `","operations":[{"op":"create","pathname":"/q"}]}`},
		{"PATCH", "/v6/pages/" + page, `{"title":"Mine"}`},
		{"PATCH", "/v6/pages/" + page + "?siteId=" + site, `{"title":"Mine"}`},
		{"DELETE", "/v6/pages/" + page, ""},
		{"PATCH", "/v2/sites/" + site, `{"name":"Mine"}`},
		{"DELETE", "/v2/sites/" + site, ""},
		{"POST", "/v2/sites/" + site + "/restore", ""},
		{"POST", "/v2/sites/" + site + "/publish", ""},
		{"POST", "/v2/locales", `{"siteId":"` + site + `","locale":"fr"}`},
	} {
		for _, key := range []string{string(stranger.Key), restricted} {
			if r := s.send(t, key, c[0], c[1], c[2]); r.status != 403 {
				t.Errorf("%s %s: got %d, want 403\n%s", c[0], c[1], r.status, r.body)
			}
		}
	}
	if late.Stop() {
		close(end)
	} else {
		t.Error("a stranger waited for the site")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
