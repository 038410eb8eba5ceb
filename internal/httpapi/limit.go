package httpapi

import (
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

func credentialBucket(who service.Caller) string {
	if who.App != nil {
		return "app:" + who.ID().String()
	}
	return "site:" + who.ID().String()
}

// rate is the one that a credential has.
func (l *Limits) rate(who service.Caller) ratelimit.Rate {
	if who.App != nil {
		return l.rateOf(who.App)
	}
	return l.Site
}

// rateOf is an app's own rate, if the operator gave it one that can be read.
func (l *Limits) rateOf(app *cms.App) ratelimit.Rate {
	var own ratelimit.Rate
	if app.Rate == "" || own.UnmarshalText([]byte(app.Rate)) != nil {
		return l.App
	}
	return own
}

// admitStranger counts a failed authentication of a client address. Who has a
// key is not held back by others behind the same address.
func (l *Limits) admitStranger(h http.Header, r *request, from netip.Addr) error {
	return l.admit(h, r, "auth:"+household(from), l.Auth)
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
