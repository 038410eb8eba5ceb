package ratelimit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// Bounds on what counting may cost a request while Redis is slow or away. Those
// that are named in the URL of Redis go before.
const (
	redisTimeout = 100 * time.Millisecond
	redisRest    = time.Second // between tries while it is away
	checkTimeout = 2 * time.Second
)

// Redis counts in Redis, together with every other node on it. While Redis is
// away, the node counts by itself.
type Redis struct {
	client  *redis.Client
	limiter *redis_rate.Limiter
	alone   *Memory
	timeout time.Duration // of an answer, by way of a new connection
	changed func(away error)

	restUntil atomic.Int64 // since the program began; 0: Redis answers
}

// NewRedis makes a limiter on the Redis at a URL. changed is told once when
// Redis goes away, with the reason, and once when it is back, with nil.
func NewRedis(url string, changed func(away error)) (*Redis, error) {
	client, err := newClient(url, redisTimeout)
	if err != nil {
		return nil, err
	}
	timeout := client.Options().DialTimeout + client.Options().ReadTimeout
	return &Redis{client: client, limiter: redis_rate.NewLimiter(client), alone: NewMemory(), timeout: timeout, changed: changed}, nil
}

func newClient(url string, timeout time.Duration) (*redis.Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		// The parser's message may repeat the password.
		return nil, errors.New("the Redis URL can't be read: it must look like redis://user:password@host:6379/0")
	}
	for _, named := range []*time.Duration{&options.DialTimeout, &options.ReadTimeout, &options.WriteTimeout} {
		if *named <= 0 {
			*named = timeout
		}
	}
	options.MaxRetries, options.DialerRetries = -1, 1 // tries, that is; the request waits for them
	logging.Disable()                                 // the caller is told
	return redis.NewClient(options), nil
}

// CheckRedis tells why a Redis can't count, if so. What it counts is forgotten
// within a second.
func CheckRedis(ctx context.Context, url string) error {
	client, err := newClient(url, checkTimeout)
	if err != nil {
		return err
	}
	_, err = redis_rate.NewLimiter(client).Allow(ctx, "galley:doctor", redis_rate.PerSecond(1))
	return errors.Join(err, client.Close())
}

// Close gives up the connections.
func (r *Redis) Close() error { return r.client.Close() }

// began is what moments are measured from: the clock may be set.
var began = time.Now()

// Take admits a request to a bucket, or does not.
func (r *Redis) Take(ctx context.Context, bucket string, rate Rate) Result {
	now := time.Now()
	rest, sinceBegan := r.restUntil.Load(), now.Sub(began)
	if int64(sinceBegan) < rest {
		return r.alone.Take(bucket, rate, now)
	}
	// A caller that gives up must not look like a Redis that is away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	got, err := r.limiter.Allow(ctx, redisKey(bucket, rate), redis_rate.Limit{Rate: rate.Requests, Burst: rate.Requests, Period: rate.Period})
	if err != nil {
		if r.restUntil.Swap(int64(sinceBegan+redisRest)) == 0 {
			r.changed(err)
		}
		return r.alone.Take(bucket, rate, now)
	}
	if rest != 0 && r.restUntil.CompareAndSwap(rest, 0) {
		r.changed(nil)
	}
	return rate.result(got)
}

// redisKey names a bucket. The rate is in the name for the reason that it is in
// Memory's.
func redisKey(bucket string, rate Rate) string { return "galley:" + bucket + ":" + rate.String() }

// chargeScript does to the library's time of a bucket what charge does: it is in
// seconds since 2017.
var chargeScript = redis.NewScript(`
local now = redis.call("TIME")
now = (now[1] - 1483228800) + now[2] / 1000000
local full = math.max(tonumber(redis.call("GET", KEYS[1]) or now), now)
full = math.max(full, math.min(full + ARGV[1] * ARGV[2], now + 2 * ARGV[3]))
redis.call("SET", KEYS[1], string.format("%.17g", full), "EX", math.ceil(full - now) + 1)
return 0`)

// Charge takes n requests from a bucket, whether or not it has them.
func (r *Redis) Charge(ctx context.Context, bucket string, rate Rate, n int) {
	now := time.Now()
	if int64(now.Sub(began)) >= r.restUntil.Load() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
		defer cancel()
		err := chargeScript.Run(ctx, r.client, []string{"rate:" + redisKey(bucket, rate)},
			n, rate.each().Seconds(), rate.burst().Seconds()).Err()
		if err == nil {
			return
		}
	}
	r.alone.Charge(bucket, rate, n, now)
}

// result reads the library's answer. Its count of what remains is one low at
// first, so it is worked out from the time until the bucket is full. Its times
// are by the clock of Redis: where that was set back, they are longer than any
// bucket takes.
func (r Rate) result(got *redis_rate.Result) Result {
	reset := min(got.ResetAfter, r.burst())
	result := Result{
		Allowed: got.Allowed > 0, ResetAfter: reset,
		Remaining: max(0, int((r.burst()-reset+r.each()/2)/r.each())),
	}
	if !result.Allowed {
		result.Remaining, result.RetryAfter = 0, min(got.RetryAfter, r.each())
	}
	return result
}
