package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// galley is the service under test: the real program, over HTTP.
type galley struct {
	service
	binary   string
	engine   engine
	store    string  // on the engine
	uncached bool    // its cache is off
	of       *galley // its store is a copy of this one's, made by load; nil: its own

	key    string
	loaded *contents
	deep   map[string][]string // by sort: a page of each site that is far down the list
	next   atomic.Int64        // makes pathnames unique
}

// galleyOn is a Galley on a new store of an engine.
func (b *bench) galleyOn(ctx context.Context, e engine, store string) *galley {
	e.create(ctx, store)
	return &galley{service: service{label: e.label()}, binary: b.galley, engine: e, store: store}
}

// contents is what loading the dataset has made: ids, in its order.
type contents struct {
	dataset
	siteIDs, pageIDs []string
	pages            []page // made beforehand, so that requests cost little; or nil
}

// at is a page by its number.
func (c *contents) at(number int) page {
	if c.pages == nil {
		return c.page(number)
	}
	return c.pages[number]
}

func (g *galley) does(op operation) bool { return !g.uncached || op.isRead() }

func (g *galley) processes() (service, database []int) { return []int{g.server.pid()}, g.engine.pids() }

// unlimited is a rate that no client reaches: the limiter works as usual, and
// refuses no request.
const unlimited = "1000000000/60"

// start starts the program, except on a copy that is not made yet. Its log is
// written and discarded.
func (g *galley) start(ctx context.Context) {
	if g.of != nil && g.loaded == nil {
		return
	}
	if g.key == "" {
		g.key = strings.TrimSpace(string(must(exec.CommandContext(ctx, g.binary, "keygen").Output())))
	}
	g.address = freeAddress(ctx)
	args := append([]string{"serve", "--addr", g.address, "--app-rate", unlimited, "--drain-delay", "0s"}, g.engine.flags(g.store)...)
	if g.uncached {
		args = append(args, "--cache-size", "0")
	}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "GALLEY_") })
	g.run(ctx, append(env, "GALLEY_BOOTSTRAP_KEY="+g.key), nil, g.binary, args...)
}

func (g *galley) load(ctx context.Context, data dataset) {
	if g.of != nil {
		g.of.stop()
		g.engine.copy(ctx, g.of.store, g.store)
		g.loaded, g.key = g.of.loaded, g.of.key
		g.of.start(ctx)
		return
	}
	g.loaded = &contents{dataset: dataset{pages: data.pages, locales: data.locales}, pages: data.all()}
	g.grow(ctx, data.sites, func(int) {})
}

// loaders is how many connections put sites in.
const loaders = 4

// grow creates sites until there are so many, each by one connection, and calls a
// function after every batch of pages.
func (g *galley) grow(ctx context.Context, sites int, loaded func(pages int)) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := g.loaded
	from := c.sites
	c.sites = sites
	c.siteIDs = slices.Concat(c.siteIDs, make([]string, sites-from))
	c.pageIDs = slices.Concat(c.pageIDs, make([]string, c.size()-len(c.pageIDs)))
	var next atomic.Int64
	load := func() {
		for site := from + int(next.Add(1)) - 1; site < sites && ctx.Err() == nil; site = from + int(next.Add(1)) - 1 {
			g.loadSite(ctx, site, loaded)
		}
	}
	var wg sync.WaitGroup
	for range loaders {
		wg.Go(func() {
			if err := recovered(load); err != nil {
				cancel(err) // of several, the first counts
			}
		})
	}
	wg.Wait()
	check(context.Cause(ctx))
}

// loadSite creates a site of the dataset with its locales and pages.
func (g *galley) loadSite(ctx context.Context, site int, loaded func(pages int)) {
	c := g.loaded
	var made struct{ ID string }
	g.call(ctx, "POST", "/v2/sites", map[string]any{"name": fmt.Sprintf("Site %d", site)}, &made)
	c.siteIDs[site] = made.ID
	for _, code := range c.locales {
		g.call(ctx, "POST", "/v2/locales", map[string]any{"siteId": made.ID, "locale": code}, nil)
	}
	end := (site + 1) * c.dataset.pages
	for start := site * c.dataset.pages; start < end; start += batchSize {
		var pages []page
		for number := start; number < min(start+batchSize, end); number++ {
			pages = append(pages, c.page(number))
		}
		copy(c.pageIDs[start:], g.createPages(ctx, made.ID, pages))
		loaded(len(pages))
	}
}

// createPages creates pages, at most a batch of them, and publishes them: a big
// site is published in parts, since one request may not take too long.
func (g *galley) createPages(ctx context.Context, siteID string, pages []page) (ids []string) {
	var creates, overrides []map[string]any
	for _, p := range pages {
		creates = append(creates, map[string]any{"op": "create", "pathname": p.pathname, "title": p.title, "description": p.description})
	}
	var made struct{ Results []struct{ ID string } }
	g.batch(ctx, siteID, creates, &made)
	for i, p := range pages {
		ids = append(ids, made.Results[i].ID)
		if p.locale != "" {
			overrides = append(overrides, map[string]any{"op": "update", "pageId": ids[i], "locale": p.locale, "pathname": p.localPathname, "title": p.localTitle})
		}
	}
	if len(overrides) > 0 {
		g.batch(ctx, siteID, overrides, nil)
	}
	g.call(ctx, "POST", "/v2/sites/"+siteID+"/publish", map[string]any{"pageIds": ids}, nil)
	return ids
}

func (g *galley) batch(ctx context.Context, siteID string, operations []map[string]any, into any) {
	g.call(ctx, "POST", "/v6/pages/batch", map[string]any{"siteId": siteID, "operations": operations}, into)
}

// call sends one request outside of measurements.
func (g *galley) call(ctx context.Context, method, target string, body, into any) {
	req := must(http.NewRequestWithContext(ctx, method, "http://"+g.address+target, bytes.NewReader(must(json.Marshal(body)))))
	req.Header.Set("x-api-key", g.key)
	req.Header.Set("content-type", "application/json")
	resp := must(http.DefaultClient.Do(req)) //nolint:bodyclose // it is closed below
	defer func() { _ = resp.Body.Close() }() // it was read to its end
	answer := must(io.ReadAll(resp.Body))
	if resp.StatusCode >= 300 {
		check(refusedBy(resp.StatusCode, fmt.Errorf("%s %s: status %d: %.500s", method, target, resp.StatusCode, answer)))
	}
	switch into := into.(type) {
	case nil:
	case *[]byte: // as it is
		*into = answer
	default:
		check(json.Unmarshal(answer, into))
	}
}

func (g *galley) headers() string { return "x-api-key: " + g.key + "\r\n" }

var sorts = []string{"path", "title", "description", "createdAt", "updatedAt"}

func (g *galley) builder(op operation) (builder, int) {
	c := g.loaded
	pick := func(r *rand.Rand) page { return c.at(r.IntN(c.size())) }
	if next := 0; !g.uncached && op.isGet() {
		// Each page once, so that all are in the cache, and any from then on.
		pick = func(r *rand.Rand) page {
			if next++; next <= c.size() {
				return c.at(next - 1)
			}
			return c.at(r.IntN(c.size()))
		}
	}
	status := http.StatusOK
	if op.action == create {
		status = http.StatusCreated
	}
	return func(r *rand.Rand) request {
		p := pick(r)
		site, id := c.siteIDs[p.site], c.pageIDs[p.number]
		options, pathname := "", p.pathname // of reads
		if op.live {
			options += "&versionRef=ref:live"
		}
		if op.localized {
			options += "&locale=" + c.localeOf(p.site)
			pathname = p.pathnameIn(c.localeOf(p.site))
		}
		switch op.action {
		case getByID:
			return request{"GET", "/v6/pages/" + id + "?" + strings.TrimPrefix(options, "&"), "", id}
		case getByPathname:
			return request{"GET", "/v6/pages" + pathname + "?siteId=" + site + options, "", id}
		case list:
			target, want := "/v6/pages?limit=20&siteId="+site, `{"object":"list"`
			if op.sort == "" {
				direction := []string{"asc", "desc"}[r.IntN(2)]
				target += "&startingAfter=" + id + "&sortBy=" + sorts[r.IntN(len(sorts))] + "&sortDirection=" + direction
			} else {
				target, want = target+"&sortBy="+op.sort, `"hasMore":true`
			}
			if op.deep {
				target += "&startingAfter=" + g.deep[op.sort][p.site]
			}
			return request{"GET", target + options, "", want}
		case create:
			return request{"POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,%s}`, site, g.newPage(p)), ""}
		case update:
			title := fmt.Sprintf("Title %d", g.next.Add(1))
			return request{"PATCH", "/v6/pages/" + id, fmt.Sprintf(`{"title":%q}`, title), title}
		default:
			creates := make([]string, batchSize)
			for i := range creates {
				creates[i] = fmt.Sprintf(`{"op":"create",%s}`, g.newPage(pick(r)))
			}
			return request{"POST", "/v6/pages/batch", fmt.Sprintf(`{"siteId":%q,"operations":[%s]}`, site, strings.Join(creates, ",")), ""}
		}
	}, status
}

// newPage is the fields of a new page that is like another.
func (g *galley) newPage(like page) string {
	return fmt.Sprintf(`"pathname":"/new/%d","title":%q,"description":%q`, g.next.Add(1), like.title, like.description)
}

// sample returns one response to an operation, for those that imitate it.
func (g *galley) sample(ctx context.Context, op operation) (answer []byte) {
	build, _ := g.builder(op)
	g.call(ctx, "GET", build(rand.New(rand.NewPCG(1, 1))).target, nil, &answer)
	return answer
}
