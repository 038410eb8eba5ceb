package ratelimit

import "time"

// NewPatientRedis is NewRedis for a machine that may be busy: only a Redis that
// is gone is away.
func NewPatientRedis(url string, changed func(away error)) (*Redis, error) {
	return newRedis(url, 20*time.Second, changed)
}
