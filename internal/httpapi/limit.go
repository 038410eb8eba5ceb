package httpapi

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"time"

	"galley/internal/cms"
	"galley/internal/ratelimit"
)

// limits counts requests against the rates that were configured.
type limits struct {
	app, site, auth ratelimit.Rate
	buckets         *ratelimit.Memory
}

var errTooMany = &cms.Error{Code: codeTooManyRequests, Message: "Too many requests, try again after the time in Retry-After"}

// admitCredential counts a request of a known credential and says in the
// answer's headers how much is left.
func (l *limits) admitCredential(h http.Header, r *request) error {
	rate, bucket := l.app, "app:"
	if r.who.App == nil {
		rate, bucket = l.site, "site:"
	}
	return l.admit(h, rate, func() ratelimit.Result { return l.buckets.Take(bucket+r.who.ID().String(), rate, time.Now()) })
}

// admitStranger refuses a client address that failed to authenticate too
// often, before its key is looked at.
func (l *limits) admitStranger(h http.Header, r *request) error {
	return l.admit(h, l.auth, func() ratelimit.Result { return l.buckets.Look(strangerBucket(r), l.auth, time.Now()) })
}

// countStranger counts a failed authentication.
func (l *limits) countStranger(h http.Header, r *request) {
	_ = l.admit(h, l.auth, func() ratelimit.Result { return l.buckets.Take(strangerBucket(r), l.auth, time.Now()) })
}

func (l *limits) admit(h http.Header, rate ratelimit.Rate, take func() ratelimit.Result) error {
	if rate.Off() {
		return nil
	}
	result := take()
	reset := strconv.Itoa(seconds(result.ResetAfter))
	remaining := strconv.Itoa(result.Remaining)
	h.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, rate.Requests, seconds(rate.Period)))
	h.Set("RateLimit", fmt.Sprintf(`"default";r=%s;t=%s`, remaining, reset))
	h.Set("X-RateLimit-Limit", strconv.Itoa(rate.Requests))
	h.Set("X-RateLimit-Remaining", remaining)
	h.Set("X-RateLimit-Reset", reset)
	if result.Allowed {
		return nil
	}
	h.Set("Retry-After", strconv.Itoa(max(1, seconds(result.RetryAfter))))
	return errTooMany
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// strangerBucket is the client's address as the connection has it: a header
// could say anything.
func strangerBucket(r *request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return "auth:" + host
}
