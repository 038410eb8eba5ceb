package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// galley is the service under test: the real program, over HTTP.
type galley struct {
	label  string
	binary string
	flags  []string // that choose its store, and more
	beside []int    // the processes of its database
	loaded *contents

	key     string
	address string
	server  *server
	next    atomic.Int64 // makes pathnames that nobody has
}

// contents is what loading the dataset has made: ids, in its order.
type contents struct {
	dataset
	siteIDs, pageIDs []string
	pages            []page
}

func (g *galley) name() string        { return g.label }
func (g *galley) does(operation) bool { return true }
func (g *galley) service() []int      { return []int{g.server.pid()} }
func (g *galley) database() []int     { return g.beside }

// unlimited is a rate that no client reaches: the limiter works, as it does
// for everybody, and stops nobody.
const unlimited = "1000000000/60"

func (g *galley) start(ctx context.Context) error {
	if g.key == "" {
		key, err := exec.CommandContext(ctx, g.binary, "keygen").Output()
		if err != nil {
			return fmt.Errorf("%s keygen: %w", g.binary, err)
		}
		g.key = strings.TrimSpace(string(key))
	}
	var err error
	if g.address, err = freeAddress(ctx); err != nil {
		return err
	}
	command := program(g.binary, append([]string{"serve", "--addr", g.address, "--app-rate", unlimited, "--drain-delay", "0s"}, g.flags...)...)
	command.Env = append(cleanEnv(), "GALLEY_BOOTSTRAP_KEY="+g.key)
	// Its log is written, as it is everywhere, but kept nowhere.
	if g.server, err = launch(command, nil); err != nil {
		return err
	}
	if err := g.server.waitUntil(ctx, func() bool { return listens(ctx, g.address) }); err != nil {
		return fmt.Errorf("%s: %w (%v)", g.label, err, command.Args)
	}
	return nil
}

func (g *galley) stop() error { return g.server.stop(syscall.SIGTERM) }

func (g *galley) load(ctx context.Context, data dataset) error {
	g.loaded = &contents{dataset: dataset{pages: data.pages, locales: data.locales}, pages: data.all()}
	return g.grow(ctx, data.sites, func(int) {})
}

// loaders is how many connections put sites in.
const loaders = 4

// grow makes sites until there are so many, each by one connection, and tells
// of every batch of pages that is in.
func (g *galley) grow(ctx context.Context, sites int, loaded func(pages int)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := g.loaded
	from := c.sites
	c.sites = sites
	c.siteIDs = slices.Concat(c.siteIDs, make([]string, sites-from))
	c.pageIDs = slices.Concat(c.pageIDs, make([]string, c.size()-len(c.pageIDs)))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range loaders {
		wg.Go(func() {
			for ctx.Err() == nil {
				site := from + int(next.Add(1)) - 1
				if site >= sites {
					return
				}
				if err := g.loadSite(ctx, site, loaded); err != nil {
					cancel(err) // of several, the first counts
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// loadSite makes a site of the dataset with its locales and pages.
func (g *galley) loadSite(ctx context.Context, site int, loaded func(pages int)) error {
	c := g.loaded
	var made struct{ ID string }
	if err := g.call(ctx, "POST", "/v2/sites", map[string]any{"name": fmt.Sprintf("Site %d", site)}, &made); err != nil {
		return err
	}
	c.siteIDs[site] = made.ID
	for _, code := range c.locales {
		if err := g.call(ctx, "POST", "/v2/locales", map[string]any{"siteId": made.ID, "locale": code}, nil); err != nil {
			return err
		}
	}
	end := (site + 1) * c.dataset.pages
	for start := site * c.dataset.pages; start < end; start += batchSize {
		var pages []page
		for number := start; number < min(start+batchSize, end); number++ {
			pages = append(pages, c.page(number))
		}
		ids, err := g.createPages(ctx, made.ID, pages)
		if err != nil {
			return err
		}
		copy(c.pageIDs[start:], ids)
		loaded(len(ids))
	}
	return nil
}

// createPages makes pages, at most a batch of them, and puts them live: a big
// site goes live in parts, since one request may not take too long.
func (g *galley) createPages(ctx context.Context, siteID string, pages []page) ([]string, error) {
	var creates, overrides []map[string]any
	for _, p := range pages {
		creates = append(creates, map[string]any{"op": "create", "pathname": p.pathname, "title": p.title, "description": p.description})
	}
	var made struct{ Results []struct{ ID string } }
	if err := g.call(ctx, "POST", "/v6/pages/batch", map[string]any{"siteId": siteID, "operations": creates}, &made); err != nil {
		return nil, err
	}
	ids := make([]string, len(pages))
	for i, p := range pages {
		ids[i] = made.Results[i].ID
		if p.locale != "" {
			overrides = append(overrides, map[string]any{"op": "update", "pageId": ids[i], "locale": p.locale, "pathname": p.localPathname, "title": p.localTitle})
		}
	}
	if len(overrides) > 0 {
		if err := g.call(ctx, "POST", "/v6/pages/batch", map[string]any{"siteId": siteID, "operations": overrides}, nil); err != nil {
			return nil, err
		}
	}
	return ids, g.call(ctx, "POST", "/v2/sites/"+siteID+"/publish", map[string]any{"pageIds": ids}, nil)
}

// call sends one request outside of measurements.
func (g *galley) call(ctx context.Context, method, target string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+g.address+target, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("x-api-key", g.key)
	req.Header.Set("content-type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	err = errors.Join(err, resp.Body.Close())
	if err != nil || resp.StatusCode >= 300 {
		return errors.Join(err, refusedBy(resp.StatusCode, fmt.Errorf("%s %s: status %d: %.500s", method, target, resp.StatusCode, answer)))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// headers are those of every request that is measured.
func (g *galley) headers() string { return "x-api-key: " + g.key + "\r\n" }

func (g *galley) driver(op operation) (driver, error) {
	status := http.StatusOK
	if op.action == create {
		status = http.StatusCreated
	}
	return newGenerator(g.address, op.connections(), status, g.builder(op))
}

var sorts = []string{"path", "title", "description", "createdAt", "updatedAt"}

func (g *galley) builder(op operation) builder {
	c := g.loaded
	headers := g.headers()
	options := "" // of reads
	if op.live {
		options += "&versionRef=ref:live"
	}
	if op.localized {
		options += "&locale=" + locale
	}
	switch op.action {
	case getByID:
		pick := eachOnce(len(c.pageIDs))
		return func(dst []byte, r *rand.Rand) ([]byte, string) {
			id := c.pageIDs[pick(r)]
			return request(dst, "GET", "/v6/pages/"+id+"?"+strings.TrimPrefix(options, "&"), headers, ""), id
		}
	case getByPathname:
		pick := eachOnce(len(c.pages))
		return func(dst []byte, r *rand.Rand) ([]byte, string) {
			p := &c.pages[pick(r)]
			pathname := p.pathname
			if op.localized {
				pathname = p.pathnameIn(locale)
			}
			return request(dst, "GET", "/v6/pages"+pathname+"?siteId="+c.siteIDs[p.site]+options, headers, ""), c.pageIDs[p.number]
		}
	case list:
		walks := c.walks()
		return func(dst []byte, r *rand.Rand) ([]byte, string) {
			if len(walks) > 0 {
				target := walks[0] + options
				walks = walks[1:]
				return request(dst, "GET", target, headers, ""), `{"object":"list"`
			}
			p := &c.pages[r.IntN(len(c.pages))]
			target := "/v6/pages?limit=20&siteId=" + c.siteIDs[p.site] + "&startingAfter=" + c.pageIDs[p.number] +
				"&sortBy=" + sorts[r.IntN(len(sorts))] + options
			if r.IntN(2) == 0 {
				target += "&sortDirection=desc"
			}
			return request(dst, "GET", target, headers, ""), `{"object":"list"`
		}
	case create:
		return func(dst []byte, r *rand.Rand) ([]byte, string) {
			p := &c.pages[r.IntN(len(c.pages))]
			body := fmt.Sprintf(`{"siteId":%q,%s}`, c.siteIDs[p.site], g.newPage(p))
			return request(dst, "POST", "/v6/pages", headers, body), ""
		}
	case update:
		return func(dst []byte, r *rand.Rand) ([]byte, string) {
			title := fmt.Sprintf("Title %d", g.next.Add(1))
			id := c.pageIDs[r.IntN(len(c.pageIDs))]
			return request(dst, "PATCH", "/v6/pages/"+id, headers, fmt.Sprintf(`{"title":%q}`, title)), title
		}
	default:
		return func(dst []byte, r *rand.Rand) ([]byte, string) {
			var body strings.Builder
			fmt.Fprintf(&body, `{"siteId":%q,"operations":[`, c.siteIDs[r.IntN(len(c.siteIDs))])
			for i := range batchSize {
				if i > 0 {
					body.WriteByte(',')
				}
				fmt.Fprintf(&body, `{"op":"create",%s}`, g.newPage(&c.pages[r.IntN(len(c.pages))]))
			}
			body.WriteString("]}")
			return request(dst, "POST", "/v6/pages/batch", headers, body.String()), ""
		}
	}
}

// walks are lists that show every page once.
func (c *contents) walks() (targets []string) {
	for first := 0; first < len(c.pages); first += listSize {
		p := c.pages[first]
		target := "/v6/pages?limit=20&sortBy=createdAt&siteId=" + c.siteIDs[p.site]
		if first%c.dataset.pages > 0 {
			target += "&startingAfter=" + c.pageIDs[first-1]
		}
		targets = append(targets, target)
	}
	return targets
}

// eachOnce picks one of n: each in turn, as somebody has asked for every page
// of a site in service, and any from then on.
func eachOnce(n int) func(*rand.Rand) int {
	next := 0
	return func(r *rand.Rand) int {
		if next == n {
			return r.IntN(n)
		}
		next++
		return next - 1
	}
}

// newPage is the fields of a new page that is like another.
func (g *galley) newPage(like *page) string {
	return fmt.Sprintf(`"pathname":"/new/%d","title":%q,"description":%q`, g.next.Add(1), like.title, like.description)
}

// sample is one answer to an operation, for those that imitate it.
func (g *galley) sample(ctx context.Context, op operation) ([]byte, error) {
	line, _ := g.builder(op)(nil, rand.New(rand.NewPCG(1, 1)))
	var answer json.RawMessage
	err := g.call(ctx, "GET", strings.Fields(string(line))[1], nil, &answer)
	return answer, err
}
