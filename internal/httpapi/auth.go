package httpapi

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"galley/internal/cms"
	"galley/internal/ratelimit"
	"galley/internal/service"
)

// authenticate identifies the credential of a request and counts the request
// against its rate.
func (a *API) authenticate(h http.Header, r *request) error {
	key, err := credential(r)
	if err != nil {
		return a.refuseUnauthenticated(h, r, err)
	}
	r.version = a.svc.Version()
	r.who, err = a.svc.Authenticate(r.Context(), key)
	switch {
	case cms.CodeOf(err) == cms.CodeUnauthorized:
		return a.refuseUnauthenticated(h, r, err)
	case err != nil:
		return err
	}
	r.credential = key
	if r.who.App != nil && len(a.origins) > 0 {
		withdrawOrigin(h)
	}
	return a.limits.admitCredential(h, r)
}

// knows reports whether a request's key can be checked without the store.
func (a *API) knows(r *request) bool {
	key, err := credential(r)
	if err != nil {
		return true
	}
	_, known := a.svc.Recognize(key)
	return known
}

// refuseUnauthenticated counts a failed authentication against the client's
// address. Clients with a valid key behind the same address are not affected.
func (a *API) refuseUnauthenticated(h http.Header, r *request, reason error) error {
	bucket := "auth:" + clientKey(a.proxies.client(r.Request))
	return cmp.Or(a.limits.admit(h, r, bucket, a.limits.Auth), reason)
}

func hasCredential(r *request) bool {
	return len(r.Header["X-Api-Key"]) > 0 || len(r.Header["Authorization"]) > 0
}

// credential returns the key, which must be in one header only, or the token of a
// session. A token in a header is no key.
func credential(r *request) (string, error) {
	if r.session != "" {
		return r.session, nil
	}
	key, err := headerKey(r)
	if _, isToken := cms.ParseSessionToken(key); isToken {
		return "", cms.ErrUnauthorized
	}
	return key, err
}

func headerKey(r *request) (string, error) {
	keys, bearers := r.Header["X-Api-Key"], r.Header["Authorization"]
	if len(keys) > 0 && len(bearers) > 0 {
		return "", cms.BadField("authorization", "must not be sent beside x-api-key")
	}
	switch {
	case len(keys) == 1:
		return keys[0], nil
	case len(bearers) == 1:
		scheme, token, _ := strings.Cut(bearers[0], " ")
		if strings.EqualFold(scheme, "bearer") {
			return token, nil
		}
	}
	return "", cms.ErrUnauthorized
}

// Buckets count requests against rates, in this process or for all nodes.
type Buckets interface {
	Take(ctx context.Context, bucket string, rate ratelimit.Rate) ratelimit.Result
	// Charge takes n requests, whether or not the bucket has them.
	Charge(ctx context.Context, bucket string, rate ratelimit.Rate, n int)
}

// Limits are the rates of App keys, of Site keys and previews, and of client addresses that
// fail to authenticate.
type Limits struct {
	App, Site, Auth ratelimit.Rate
	Buckets         Buckets
}

var errTooMany = &cms.Error{Code: codeTooManyRequests, Message: "Too many requests, try again after the time in Retry-After"}

// admitCredential counts a request of a known credential.
func (l *Limits) admitCredential(h http.Header, r *request) error {
	return l.admit(h, r, credentialBucket(r.who), l.rate(r.who))
}

// credentialBucket names the bucket of a credential. An app that was created by
// an app shares its bucket, unless the operator set a rate for it, and previews share
// that of their site's key. The console has a bucket of its own, so that a person does
// not take from a program.
func credentialBucket(who service.Caller) string {
	switch {
	case who.Session != nil:
		who.Session = nil
		return "console:" + credentialBucket(who)
	case who.App == nil:
		return "site:" + who.Site.ID.String()
	case who.App.Rate == "" && who.App.MadeBy != cms.NoID:
		return "app:" + who.App.MadeBy.String()
	}
	return "app:" + who.ID().String()
}

// rowsPerRequest is how many rows count as a request.
const rowsPerRequest = 100

// chargeRows counts the rows that a request has written against its rate.
func (l *Limits) chargeRows(r *request, rows int64) {
	if rate := l.rate(r.who); rows >= rowsPerRequest && !rate.Off() {
		l.Buckets.Charge(r.Context(), credentialBucket(r.who), rate, int(rows/rowsPerRequest))
	}
}

// rate returns the rate of a credential.
func (l *Limits) rate(who service.Caller) ratelimit.Rate {
	if who.App != nil {
		return l.rateOf(who.App)
	}
	return l.Site
}

// rateOf returns the rate that the operator set for an app or for its creator.
func (l *Limits) rateOf(app *cms.App) ratelimit.Rate {
	var own ratelimit.Rate
	if text := cmp.Or(app.Rate, app.MakerRate); text == "" || own.UnmarshalText([]byte(text)) != nil {
		return l.App
	}
	return own
}

// limitHeaders are the headers of a rate limit, in canonical form.
var limitHeaders = [...]string{"Ratelimit-Policy", "Ratelimit", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}

// admit counts a request and sets limitHeaders. Their values share one slice,
// since every response has them.
func (l *Limits) admit(h http.Header, r *request, bucket string, rate ratelimit.Rate) error {
	if rate.Off() {
		return nil
	}
	result := l.Buckets.Take(r.Context(), bucket, rate)
	limit, remaining := strconv.Itoa(rate.Requests), strconv.Itoa(result.Remaining)
	reset := strconv.Itoa(seconds(result.ResetAfter))
	values := []string{
		`"default";q=` + limit + `;w=` + strconv.Itoa(seconds(rate.Period)), `"default";r=` + remaining + `;t=` + reset,
		limit, remaining, reset,
	}
	for i, name := range limitHeaders {
		h[name] = values[i : i+1 : i+1]
	}
	if result.Allowed {
		return nil
	}
	h.Set("Retry-After", strconv.Itoa(max(1, seconds(result.RetryAfter))))
	return errTooMany
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// proxies are the networks whose X-Forwarded-For is trusted.
type proxies []netip.Prefix

func (p proxies) trust(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(a) })
}

// client returns the address of the client: the connection's, or, where that is
// a trusted proxy, the rightmost forwarded address that is not. Entries further
// left are written by the client and ignored.
func (p proxies) client(r *http.Request) netip.Addr {
	from, ok := parseAddress(r.RemoteAddr)
	if !ok || !p.trust(from) {
		return from
	}
	list := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	for list != "" {
		comma := strings.LastIndexByte(list, ',')
		hop, ok := parseAddress(strings.TrimSpace(list[comma+1:]))
		if !ok {
			return from
		}
		if from = hop; !p.trust(hop) {
			return hop
		}
		list = list[:max(comma, 0)]
	}
	return from
}

// parseAddress reads an address with or without a port. IPv4 addresses mapped to
// IPv6 are unmapped, and zones are dropped.
func parseAddress(text string) (netip.Addr, bool) {
	withPort, err := netip.ParseAddrPort(text)
	a := withPort.Addr()
	if err != nil {
		a, err = netip.ParseAddr(text)
	}
	return a.Unmap().WithZone(""), err == nil
}

// clientKey names a client for rate limits: an IPv6 client has a whole /64.
func clientKey(a netip.Addr) string {
	if !a.Is6() {
		return a.String()
	}
	return netip.PrefixFrom(a, 64).Masked().String()
}

const actorHeader = "X-Actor"

// maxActor is the longest name of a person, in characters.
const maxActor = 200

// actorOf returns the person that a write names in X-Actor. Reads ignore the
// header.
func actorOf(r *http.Request) (string, error) {
	values := r.Header.Values(actorHeader)
	if len(values) == 0 || readOnly(r.Method) {
		return "", nil
	}
	actor := values[0]
	visible := utf8.ValidString(actor) && !strings.ContainsFunc(actor, func(c rune) bool { return !unicode.IsPrint(c) })
	if len(values) > 1 || actor == "" || utf8.RuneCountInString(actor) > maxActor || !visible {
		return "", cms.BadField(actorHeader, "must be given once, with 1 to 200 visible characters")
	}
	return actor, nil
}
