package httpapi

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"galley/internal/cms"
	"galley/internal/ratelimit"
	"galley/internal/service"
)

// Buckets count requests against rates: in this process, or shared by nodes.
type Buckets interface {
	Take(ctx context.Context, bucket string, rate ratelimit.Rate) ratelimit.Result
	// Charge takes n requests, whether or not the bucket has them.
	Charge(ctx context.Context, bucket string, rate ratelimit.Rate, n int)
}

// Limits are the rates of an App key, a Site key, and of a client address that
// fails to authenticate, and where they are counted.
type Limits struct {
	App, Site, Auth ratelimit.Rate
	Buckets         Buckets
}

var errTooMany = &cms.Error{Code: codeTooManyRequests, Message: "Too many requests, try again after the time in Retry-After"}

// admitCredential counts a request of a known credential.
func (l *Limits) admitCredential(h http.Header, r *request) error {
	return l.admit(h, r, credentialBucket(r.who), l.rate(r.who))
}

// credentialBucket names the bucket of a credential. An app that an app made
// shares that one's, unless the operator gave it a rate of its own.
func credentialBucket(who service.Caller) string {
	switch {
	case who.App == nil:
		return "site:" + who.ID().String()
	case who.App.Rate == "" && who.App.MadeBy != cms.NoID:
		return "app:" + who.App.MadeBy.String()
	}
	return "app:" + who.ID().String()
}

// rowsPerRequest is how many rows count as a request.
const rowsPerRequest = 100

// chargeRows counts the work that a request was, beyond the request itself.
func (l *Limits) chargeRows(r *request, rows int64) {
	if rate := l.rate(r.who); rows >= rowsPerRequest && !rate.Off() {
		l.Buckets.Charge(r.Context(), credentialBucket(r.who), rate, int(rows/rowsPerRequest))
	}
}

// rate is the one that a credential has.
func (l *Limits) rate(who service.Caller) ratelimit.Rate {
	if who.App != nil {
		return l.rateOf(who.App)
	}
	return l.Site
}

// rateOf is the rate that the operator gave an app, or else the app that made it.
func (l *Limits) rateOf(app *cms.App) ratelimit.Rate {
	var own ratelimit.Rate
	if text := cmp.Or(app.Rate, app.MakerRate); text == "" || own.UnmarshalText([]byte(text)) != nil {
		return l.App
	}
	return own
}

// admitStranger counts a failed authentication of a client address. Who has a
// key is not held back by others behind the same address.
func (l *Limits) admitUnauthenticated(h http.Header, r *request, from netip.Addr) error {
	return l.admit(h, r, "auth:"+clientKey(from), l.Auth)
}

// limitHeaders are those that say how much is left, as net/http keeps them.
var limitHeaders = [...]string{"Ratelimit-Policy", "Ratelimit", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}

// take counts a request, and returns the values of limitHeaders, if there are
// any: in one piece of memory, since every answer has them.
func (l *Limits) take(ctx context.Context, bucket string, rate ratelimit.Rate) (result ratelimit.Result, headers []string) {
	if rate.Off() {
		return ratelimit.Result{Allowed: true}, nil
	}
	result = l.Buckets.Take(ctx, bucket, rate)
	limit, remaining := strconv.Itoa(rate.Requests), strconv.Itoa(result.Remaining)
	reset := strconv.Itoa(seconds(result.ResetAfter))
	return result, []string{
		`"default";q=` + limit + `;w=` + strconv.Itoa(seconds(rate.Period)), `"default";r=` + remaining + `;t=` + reset,
		limit, remaining, reset,
	}
}

// admit counts a request and says in the answer's headers how much is left.
func (l *Limits) admit(h http.Header, r *request, bucket string, rate ratelimit.Rate) error {
	result, headers := l.take(r.Context(), bucket, rate)
	for i := range headers {
		h[limitHeaders[i]] = headers[i : i+1 : i+1]
	}
	if result.Allowed {
		return nil
	}
	h.Set("Retry-After", strconv.Itoa(max(1, seconds(result.RetryAfter))))
	return errTooMany
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
