package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver that writes its database
)

// pocketbase is the peer; see the folder pocketbase for what it runs.
type pocketbase struct {
	service
	binary, folder string

	token string
	next  atomic.Int64
	pages []page
	ids   []pocketIDs
	sites []string
}

// pocketIDs are the records of a page: PocketBase has no versions or locales,
// so each is a record of its own.
type pocketIDs struct{ draft, live, french string }

func (p *pocketbase) does(operation) bool { return true }

func (p *pocketbase) start(ctx context.Context) {
	token := make(chan string, 1)
	p.address = freeAddress(ctx)
	p.run(ctx, nil, func(line string) {
		if rest, ok := strings.CutPrefix(line, "token "); ok {
			token <- rest
		}
	}, p.binary, p.address, p.folder)
	p.token = <-token
}

// load writes the records into its database: its own interface would take many
// minutes.
func (p *pocketbase) load(ctx context.Context, data dataset) {
	db := must(sql.Open("sqlite", "file:"+filepath.Join(p.folder, "data.db")+"?_pragma=busy_timeout(10000)"))
	defer func() { check(db.Close()) }()
	tx := must(db.BeginTx(ctx, nil))
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	for i := range data.sites {
		id := recordID("site", i)
		must(tx.ExecContext(ctx, `insert into sites (id, name) values (?, ?)`, id, fmt.Sprintf("Site %d", i)))
		p.sites = append(p.sites, id)
	}
	insert := must(tx.PrepareContext(ctx, `insert into pages
		(id, siteId, version, locale, name, pathname, title, description, isOnline, createdAt, updatedAt)
		values (?, ?, ?, ?, ?, ?, ?, ?, true, ?, ?)`))
	p.pages = data.all()
	for _, page := range p.pages {
		ids := pocketIDs{recordID("draft", page.number), recordID("live", page.number), ""}
		created := pocketTime(page.createdAt)
		put := func(id, version, locale, pathname, title string) {
			must(insert.ExecContext(ctx, id, p.sites[page.site], version, locale, title, pathname, title, page.description, created, created))
		}
		put(ids.draft, "draft", pocketLocale, page.pathname, page.title)
		put(ids.live, "live", pocketLocale, page.pathname, page.title)
		if page.localTitle != "" {
			ids.french = recordID(locale, page.number)
			put(recordID("draft "+locale, page.number), "draft", locale, page.localPathname, page.localTitle)
			put(ids.french, "live", locale, page.localPathname, page.localTitle)
		}
		p.ids = append(p.ids, ids)
	}
	check(tx.Commit())
}

// recordID makes an id of PocketBase's form: 15 small letters and digits in no
// order.
func recordID(kind string, n int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz012345"
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	id := make([]byte, 15)
	for i := range id {
		id[i] = alphabet[sum[i]%32]
	}
	return string(id)
}

func pocketTime(t time.Time) string { return t.Format("2006-01-02 15:04:05.000Z") }

const (
	records = "/api/collections/pages/records"
	// pocketLocale is the locale of records of the default locale: a filter for an
	// empty value also searches for missing ones, and uses no index.
	pocketLocale = "en"
)

func (p *pocketbase) headers() string { return "Authorization: " + p.token + "\r\n" }

func (p *pocketbase) builder(op operation) (builder, int) {
	return func(r *rand.Rand) request {
		page := &p.pages[r.IntN(len(p.pages))]
		switch op.action {
		case getByID:
			id := p.record(op, page.number)
			return request{"GET", records + "/" + id, "", id}
		case getByPathname:
			code, pathname := pocketLocale, page.pathname
			if op.localized && page.localPathname != "" {
				code, pathname = locale, page.localPathname
			}
			filter := p.scope(op, page, code) + " && pathname='" + pathname + "'"
			return request{"GET", query(filter, "", 1), "", p.record(op, page.number)}
		case list:
			return request{"GET", p.list(op, page.number, r), "", `{"items":[`}
		case create:
			return request{"POST", records, p.newPage(page), ""}
		case update:
			title := fmt.Sprintf("Title %d", p.next.Add(1))
			return request{"PATCH", records + "/" + p.ids[page.number].draft, fmt.Sprintf(`{"title":%q}`, title), title}
		default:
			requests := make([]string, batchSize)
			for i := range requests {
				requests[i] = fmt.Sprintf(`{"method":"POST","url":%q,"body":%s}`, records, p.newPage(&p.pages[r.IntN(len(p.pages))]))
			}
			return request{"POST", "/api/batch", `{"requests":[` + strings.Join(requests, ",") + `]}`, ""}
		}
	}, http.StatusOK
}

// record is the record that a read of a page finds. Where a locale overrides
// nothing, a client asks for the default values straight away.
func (p *pocketbase) record(op operation, number int) string {
	ids := p.ids[number]
	switch {
	case op.localized && ids.french != "":
		return ids.french
	case op.live:
		return ids.live
	}
	return ids.draft
}

func (p *pocketbase) scope(op operation, page *page, code string) string {
	version := "draft"
	if op.live {
		version = "live"
	}
	return "siteId='" + p.sites[page.site] + "' && version='" + version + "' && locale='" + code + "'"
}

// list continues after a page by the values that it is sorted by, which an index
// finds: the way that costs PocketBase least.
func (p *pocketbase) list(op operation, number int, r *rand.Rand) (target string) {
	code := pocketLocale
	if op.localized {
		number -= number % localizedEvery
		code = locale
	}
	page := &p.pages[number]
	values := [][2]string{
		{"pathname", page.pathnameIn(code)}, {"title", page.title}, {"description", page.description},
		{"createdAt", pocketTime(page.createdAt)}, {"updatedAt", pocketTime(page.createdAt)},
	}
	if op.localized {
		values[1][1] = page.localTitle
	}
	chosen := values[r.IntN(len(values))]
	field, value := chosen[0], chosen[1]
	after, sort := ">", field+",id"
	if r.IntN(2) == 0 {
		after, sort = "<", "-"+field+",-id"
	}
	return query(p.scope(op, page, code)+fmt.Sprintf(" && %[1]s%[2]s='%[3]s' && (%[1]s%[2]s'%[3]s' || id%[2]s'%[4]s')",
		field, after, value, p.record(op, number)), sort, listSize)
}

func query(filter, sort string, limit int) (target string) {
	return fmt.Sprintf("%s?skipTotal=1&perPage=%d&sort=%s&filter=%s", records, limit, sort, url.QueryEscape(filter))
}

func (p *pocketbase) newPage(like *page) string {
	return fmt.Sprintf(`{"siteId":%q,"version":"draft","locale":%q,"pathname":"/new/%d","title":%q,"description":%q,"isOnline":true}`,
		p.sites[like.site], pocketLocale, p.next.Add(1), like.title, like.description)
}
