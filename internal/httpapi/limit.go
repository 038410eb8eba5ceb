package httpapi

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
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
		return l.admit(h, r, "app:"+r.who.ID().String(), l.App)
	}
	return l.admit(h, r, "site:"+r.who.ID().String(), l.Site)
}

// admitStranger counts a failed authentication of a client address. Who has a
// key is not held back by others behind the same address.
func (l *Limits) admitStranger(h http.Header, r *request) error {
	// The address is the connection's: a header could say anything.
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return l.admit(h, r, "auth:"+host, l.Auth)
}

// admit counts a request and says in the answer's headers how much is left.
func (l *Limits) admit(h http.Header, r *request, bucket string, rate ratelimit.Rate) error {
	if rate.Off() {
		return nil
	}
	result := l.Buckets.Take(r.Context(), bucket, rate)
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
