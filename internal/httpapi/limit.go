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
	if r.who.App != nil {
		return l.admit(h, r, "app:"+r.who.ID().String(), l.rateOf(r.who.App))
	}
	return l.admit(h, r, "site:"+r.who.ID().String(), l.Site)
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

// admit counts a request and says in the answer's headers how much is left.
func (l *Limits) admit(h http.Header, r *request, bucket string, rate ratelimit.Rate) error {
	if rate.Off() {
		return nil
	}
	result := l.Buckets.Take(r.Context(), bucket, rate)
	limit, remaining := strconv.Itoa(rate.Requests), strconv.Itoa(result.Remaining)
	reset := strconv.Itoa(seconds(result.ResetAfter))
	// Every answer has these: their names are written as net/http keeps them,
	// and their values are in one piece of memory.
	values := []string{
		`"default";q=` + limit + `;w=` + strconv.Itoa(seconds(rate.Period)), `"default";r=` + remaining + `;t=` + reset,
		limit, remaining, reset,
	}
	h["Ratelimit-Policy"] = values[0:1:1]
	h["Ratelimit"] = values[1:2:2]
	h["X-Ratelimit-Limit"] = values[2:3:3]
	h["X-Ratelimit-Remaining"] = values[3:4:4]
	h["X-Ratelimit-Reset"] = values[4:5:5]
	if result.Allowed {
		return nil
	}
	h.Set("Retry-After", strconv.Itoa(max(1, seconds(result.RetryAfter))))
	return errTooMany
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
