package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"galley/internal/cms"
	"galley/internal/service"
)

// hostile is a request that is not as it should be, or that only seems so, and
// the answer that it gets on every engine. Words in braces stand for what the
// world of the test has: {site}, {about}, {key}; see newHostileWorld.
type hostile struct {
	name    string
	as      string // the x-api-key header: {key} if empty, none if "-"
	method  string // GET if empty
	target  string
	headers []string // name, value; each is a line of its own
	body    string
	chunked bool   // the body's length is not told in advance
	raw     string // the whole request instead, byte for byte

	status    int
	fields    []string // of the details, all of them, in order
	message   string   // if given
	shows     string   // a part of the answer's body, if given
	header    string   // "Name: value" that the answer has, if given
	unchanged bool     // of a success: it changes nothing all the same
}

var hostileTables = []struct {
	name  string
	cases []hostile
}{
	{"key", hostileKeys}, {"address", hostileAddresses}, {"siteId", hostileSiteIDs}, {"list", hostileLists},
	{"pathname", hostilePathnames}, {"reading", hostileReads}, {"locale code", hostileLocaleCodes},
	{"origin", hostileOrigins}, {"body", hostileBodies}, {"field", hostileFields}, {"app", hostileApps},
	{"batch", hostileBatches}, {"publish", hostilePublishes}, {"wire", hostileWires}, {"condition", hostileConditions},
	{"runtime", hostileRuntimeReads}, {"content", hostileContents}, {"preview", hostilePreviews}, {"webhook", hostileWebhooks},
}

func TestHostileInput(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for _, table := range hostileTables {
			t.Run(table.name, func(t *testing.T) {
				w := newHostileWorld(t, s)
				w.everything = w.look(t)
				for _, c := range table.cases {
					t.Run(c.name, func(t *testing.T) { w.check(t, c) })
				}
			})
		}
	})
}

// hostileWorld has something of everything that a request can name.
type hostileWorld struct {
	*system
	values     map[string]string
	everything string // what there is, as the lists tell it
	rawURL     string // where requests go that are sent as they are
}

// patience is how long an answer may take on a busy machine: what would take
// for ever takes longer.
const patience = 30 * time.Second

// check sends a case and holds the answer, and what is there afterwards,
// against what is wanted.
func (w *hostileWorld) check(t *testing.T, c hostile) {
	t.Helper()
	c = w.fill(c)
	begin := time.Now()
	r := w.sendHostile(t, c)
	if took := time.Since(begin); took > patience {
		t.Errorf("took %v", took)
	}
	if r.status != c.status {
		t.Errorf("status %d, want %d\n%.500s", r.status, c.status, r.body)
	}
	w.checkDetails(t, c, r)
	if c.shows != "" && !strings.Contains(string(r.body), c.shows) {
		t.Errorf("the answer does not show %s:\n%.1000s", c.shows, r.body)
	}
	if name, value, ok := strings.Cut(c.header, ": "); ok && r.header.Get(name) != value {
		t.Errorf("%s is %q, want %q", name, r.header.Get(name), value)
	}
	if c.method == "" || c.method == "GET" || c.method == "HEAD" {
		return
	}
	now := w.look(t)
	if (c.status >= 400 || c.unchanged) && now != w.everything {
		t.Errorf("something changed:\n%s", cmp.Diff(w.everything, now))
	}
	w.everything = now
}

func (w *hostileWorld) checkDetails(t *testing.T, c hostile, r reply) {
	t.Helper()
	if c.status < 400 || c.method == "HEAD" {
		return
	}
	var e struct {
		Code, Message string
		Details       []struct{ Field string }
	}
	if err := json.Unmarshal(r.body, &e); err != nil {
		t.Fatalf("no error body: %v\n%.500s", err, r.body)
	}
	var fields []string
	for _, d := range e.Details {
		fields = append(fields, d.Field)
	}
	if want := hostileCodes[c.status]; e.Code != want || !slices.Equal(fields, c.fields) {
		t.Errorf("code %s with details on %q, want %s with %q\n%.500s", e.Code, fields, want, c.fields, r.body)
	}
	if c.message != "" && e.Message != c.message {
		t.Errorf("message %q, want %q", e.Message, c.message)
	}
	if key := w.values["{key}"]; strings.Contains(string(r.body), key) {
		t.Errorf("the answer repeats the key: %s", r.body)
	}
}

var hostileCodes = map[int]string{
	400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed", 409: "conflict",
	412: "precondition_failed", 413: "payload_too_large", 415: "unsupported_media_type", 429: "too_many_requests",
}

// fill puts the world's values in the place of their names.
func (w *hostileWorld) fill(c hostile) hostile {
	pairs := make([]string, 0, 2*len(w.values))
	for name, value := range w.values {
		pairs = append(pairs, name, value)
	}
	replacer := strings.NewReplacer(pairs...)
	for _, text := range []*string{&c.as, &c.target, &c.body, &c.raw, &c.shows, &c.header} {
		*text = replacer.Replace(*text)
	}
	c.headers, c.fields = slices.Clone(c.headers), slices.Clone(c.fields)
	for _, list := range [][]string{c.headers, c.fields} {
		for i := range list {
			list[i] = replacer.Replace(list[i])
		}
	}
	return c
}

func (w *hostileWorld) sendHostile(t *testing.T, c hostile) reply {
	t.Helper()
	if c.raw != "" {
		replies := w.sendRaw(t, c.raw)
		if len(replies) != 1 {
			t.Fatalf("%d answers, want 1", len(replies))
		}
		return replies[0]
	}
	var body io.Reader
	if c.body != "" {
		body = strings.NewReader(c.body)
	}
	if c.chunked {
		body = io.MultiReader(body)
	}
	req, err := http.NewRequest(c.method, w.url+c.target, body)
	if err != nil {
		t.Fatal(err)
	}
	switch c.as {
	case "":
		req.Header.Set("X-Api-Key", w.key)
	case "-":
	default:
		req.Header.Set("X-Api-Key", c.as)
	}
	if c.body != "" && !slices.Contains(c.headers, "Content-Type") {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(c.headers); i += 2 {
		// As written: the letter case of a name may be what matters.
		req.Header[c.headers[i]] = append(req.Header[c.headers[i]], c.headers[i+1])
	}
	return w.do(t, req)
}

// sendRaw writes a request as it is, and reads answers until the server closes
// the connection or says nothing more for a while.
func (w *hostileWorld) sendRaw(t *testing.T, raw string) []reply {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.rawURL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, raw); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	var replies []reply
	for reader := bufio.NewReader(conn); ; {
		resp, err := http.ReadResponse(reader, nil)
		if err != nil {
			return replies
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		replies = append(replies, reply{resp.StatusCode, resp.Header, body})
	}
}

// look lists everything that a write could have changed.
func (w *hostileWorld) look(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, target := range []string{
		"/v2/sites?limit=100", "/v2/apps?limit=100", "/v2/locales?siteId={site}", "/v2/routes?siteId={site}", "/v2/redirects?siteId={site}",
		"/v6/pages?siteId={site}&includeOffline=true&limit=100", "/v6/pages?siteId={site}&includeOffline=true&limit=100&locale=fr",
		"/v6/pages/{cafe}?include=content", "/v6/pages/{cafe}?include=content&locale=fr",
		"/v6/pages?siteId={other}&includeOffline=true", "/v2/locales?siteId={other}", "/v2/routes?siteId={other}", "/v2/sites/{site}/publishes",
		"/v2/previews?siteId={site}&limit=100", "/v2/previews?siteId={other}",
	} {
		fmt.Fprintf(&all, "%s\n", w.plainGet(t, w.key, target))
	}
	for _, target := range []string{"/v2/sites", "/v2/apps", "/v6/pages?siteId={foreign}", "/v2/locales?siteId={foreign}", "/v2/routes?siteId={foreign}"} {
		fmt.Fprintf(&all, "%s\n", w.plainGet(t, w.values["{foreignKey}"], target))
	}
	return all.String()
}

// plainGet reads a list without holding it against the document: the tests of
// each list do so, and here there are very many.
func (w *hostileWorld) plainGet(t *testing.T, key, target string) []byte {
	t.Helper()
	target = w.fill(hostile{target: target}).target
	req, err := http.NewRequest("GET", w.url+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("GET %s: %d %v\n%s", target, resp.StatusCode, err, body)
	}
	return body
}

func newHostileWorld(t *testing.T, s *system) *hostileWorld {
	t.Helper()
	w := &hostileWorld{system: s, rawURL: s.url, values: map[string]string{
		"{key}": s.key, "{nil}": cms.NoID.String(), "{unknown}": cms.NewID().String(), "{host}": strings.TrimPrefix(s.url, "http://"),
	}}
	w.values["{site}"], w.values["{siteKey}"] = s.newSite(t)
	w.values["{other}"], _ = s.newSite(t)
	w.values["{gone}"], w.values["{goneKey}"] = s.newSite(t)
	w.addContent(t)
	w.addStrangers(t)
	w.addNearMisses()
	w.addPreviews(t)
	w.addWebhooks(t)
	s.must(t, 204, "DELETE", "/v2/sites/"+w.values["{gone}"], "")
	return w
}

func (w *hostileWorld) addContent(t *testing.T) {
	t.Helper()
	site, other := w.values["{site}"], w.values["{other}"]
	for name, pathname := range map[string]string{"{home}": "/", "{about}": "/about", "{nested}": "/a/b", "{cafe}": "/café", "{deleted}": "/deleted"} {
		w.values[name] = w.newPage(t, site, pathname)
	}
	w.must(t, 204, "DELETE", "/v6/pages/"+w.values["{deleted}"], "")
	w.values["{otherPage}"] = w.newPage(t, other, "/about")
	w.values["{gonePage}"] = w.newPage(t, w.values["{gone}"], "/about")
	for _, code := range []string{"fr", "de"} {
		r := w.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+site+`","locale":"`+code+`"}`)
		w.values["{"+code+"}"] = r.str(t, "id")
	}
	w.must(t, 200, "PATCH", "/v6/pages/"+w.values["{about}"]+"?locale=fr", `{"pathname":"/a-propos"}`)
	w.values["{contentTag}"] = w.must(t, 200, "PUT", "/v6/pages/"+w.values["{cafe}"]+"/content", `{"kept":true}`).header.Get("ETag")
	w.values["{route}"] = w.must(t, 201, "POST", "/v2/routes", `{"siteId":"`+site+`","pathname":"/checkout"}`).str(t, "id")
	w.values["{otherRoute}"] = w.must(t, 201, "POST", "/v2/routes", `{"siteId":"`+other+`","pathname":"/"}`).str(t, "id")
	gone := w.must(t, 201, "POST", "/v2/routes", `{"siteId":"`+site+`","pathname":"/old"}`).str(t, "id")
	w.must(t, 204, "DELETE", "/v2/routes/"+gone, "")
	w.values["{goneRoute}"] = gone
	for name, target := range map[string]string{"{tag}": "/v6/pages/{about}", "{siteTag}": "/v2/sites/{site}", "{routeTag}": "/v2/routes/{route}", "{frTag}": "/v2/locales/{fr}"} {
		tag := w.must(t, 200, "GET", w.fill(hostile{target: target}).target, "").header.Get("ETag")
		w.values[name], w.values["{bare-"+name[1:]] = tag, strings.Trim(tag, `"`)
	}
}

// addNearMisses changes ids and keys a little.
func (w *hostileWorld) addNearMisses() {
	key, siteKey := w.key, w.values["{siteKey}"]
	flip := func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}
	broken := key[:len(key)-1] + "0"
	if broken == key {
		broken = key[:len(key)-1] + "1"
	}
	w.values["{cutKey}"], w.values["{brokenKey}"], w.values["{flippedKey}"] = key[:len(key)-1], broken, "sk_"+strings.Map(flip, key[3:])
	w.values["{SITEKEY}"], w.values["{plainSiteKey}"] = strings.ToUpper(siteKey), strings.ReplaceAll(siteKey, "-", "")
	w.values["{SITE}"], w.values["{ABOUT}"] = strings.ToUpper(w.values["{site}"]), strings.ToUpper(w.values["{about}"])
	w.values["{escapedAbout}"] = fmt.Sprintf("%%%02X%s", w.values["{about}"][0], w.values["{about}"][1:])
}

// addStrangers makes another workspace, and apps with fewer rights or none.
func (w *hostileWorld) addStrangers(t *testing.T) {
	t.Helper()
	stranger, err := w.svc.CreateOperatorApp(t.Context(), service.OperatorApp{Name: "Stranger", Scopes: cms.Scopes, NewWorkspace: "Strangers"})
	if err != nil {
		t.Fatal(err)
	}
	w.values["{foreignKey}"] = string(stranger.Key)
	w.values["{foreignApp}"] = stranger.App.ID.String()
	w.values["{foreignWorkspace}"] = stranger.App.WorkspaceID.String()
	own := &system{w.store, w.svc, w.api, w.url, string(stranger.Key), stranger.App}
	w.values["{foreign}"], w.values["{foreignSiteKey}"] = own.newSite(t)
	w.values["{foreignPage}"] = own.newPage(t, w.values["{foreign}"], "/about")
	r := own.must(t, 200, "GET", "/v6/pages/"+w.values["{foreignPage}"], "")
	w.values["{foreignTag}"] = r.header.Get("ETag")

	reader := w.must(t, 201, "POST", "/v2/apps", `{"name":"Reader","scopes":["read"]}`)
	w.values["{reader}"], w.values["{readerKey}"] = reader.str(t, "id"), reader.str(t, "key")
	revoked := w.must(t, 201, "POST", "/v2/apps", `{"name":"Revoked"}`)
	w.must(t, 204, "DELETE", "/v2/apps/"+revoked.str(t, "id"), "")
	w.values["{revokedKey}"] = revoked.str(t, "key")
	w.values["{expiredKey}"] = string(w.expiredKey(t))
}

// expiredKey is the key of an app that the interface itself would not make.
func (w *hostileWorld) expiredKey(t *testing.T) cms.AppKey {
	t.Helper()
	key := cms.NewAppKey()
	app := cms.App{
		ID: cms.NewID(), WorkspaceID: w.first.WorkspaceID, Name: "Expired", KeyHint: key.Hint(), Scopes: cms.Scopes,
		CreatedAt: time.Now().UTC(), ExpiresAt: new(time.Now().UTC().Add(-time.Hour)),
	}
	if err := w.store.InTx(t.Context(), func(tx cms.Tx) error { return tx.CreateApp(t.Context(), app, key.Hash()) }); err != nil {
		t.Fatal(err)
	}
	return key
}

// each makes a case of every value. %s in the target is the value escaped for
// a query or path, in the body it is the value as a JSON string.
func each(c hostile, values ...string) []hostile {
	cases := make([]hostile, len(values))
	for i, value := range values {
		one := c
		text, _ := json.Marshal(value)
		one.name = fmt.Sprintf("%s %.40q", c.name, value)
		one.target = strings.Replace(c.target, "%s", url.QueryEscape(value), 1)
		one.body = strings.Replace(c.body, "%s", string(text), 1)
		cases[i] = one
	}
	return cases
}

// eachRaw is each with the values put in just as they are.
func eachRaw(c hostile, values ...string) []hostile {
	cases := make([]hostile, len(values))
	for i, value := range values {
		one := c
		one.name = fmt.Sprintf("%s %.40q", c.name, value)
		one.target = strings.Replace(c.target, "%s", value, 1)
		one.body = strings.Replace(c.body, "%s", value, 1)
		one.shows = strings.Replace(c.shows, "%s", value, 1)
		cases[i] = one
	}
	return cases
}
