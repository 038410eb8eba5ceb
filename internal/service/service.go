// Package service holds the verbs: it authorises the caller, loads, applies a
// rule of the domain and saves, a file for each noun. It knows neither SQL nor
// HTTP.
package service

import (
	"context"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/semaphore"

	"galley/internal/cms"
)

// Store keeps everything, and carries changes between the nodes that use it.
type Store interface {
	cms.Store

	// Shared reports whether other nodes may write to the store.
	Shared() bool
	// Notify tells the other nodes what a commit changed. It does not wait, and a
	// notification may be lost.
	Notify(changed []cms.Subject)
	// Listen reports what others change until the context ends, and whether it
	// can at the moment. A change of nothing in particular may be one of anything.
	Listen(ctx context.Context, changed func(...cms.Subject), listening func(bool))
}

// Service does what callers ask for, as far as they may.
type Service struct {
	Guard   Guard    // against publishing most of a site away
	Replica *Replica // nil: every read goes to the store

	store      Store
	clock      func() time.Time
	encode     AuditState
	changes    changes
	callers    callers
	snapshots  snapshots
	positions  *positions
	usage      usage
	underWay   underWay
	bigWork    bigWork
	sites      *semaphores // of sites that are written to
	reviews    *semaphores // of workspaces whose changes are listed
	allReviews *semaphore.Weighted
	locations  *otter.Cache[cms.ID, location]

	knownReviews *otter.Cache[string, reviewed] // by site and selection
}

// Depict turns a resource into what the audit trail shows of it, as JSON and
// without secrets. The edge knows how.
type AuditState func(resource any) []byte

// New makes a service on a store. Only tests hand in a clock other than
// time.Now.
func New(store Store, clock func() time.Time, encode AuditState) *Service {
	return &Service{
		store: store, clock: clock, encode: encode, Guard: DefaultGuard, positions: newPositions(),
		sites: newSemaphores(siteWriters, maxSiteUsers), reviews: newSemaphores(maxReviews-1, maxReviewUsers), allReviews: semaphore.NewWeighted(maxReviews),
		bigWork:      bigWork{jobs: newSemaphores(1, maxBigJobs)},
		locations:    otter.Must(&otter.Options[cms.ID, location]{MaximumSize: maxLocations}),
		knownReviews: otter.Must(&otter.Options[string, reviewed]{MaximumSize: 100}),
	}
}

// now is the time in the precision that answers show, so that what is stored
// is what is seen.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Millisecond) }

// Input is the body of a request. It is told only once the right to the
// resource in the address is sure, since a missing right or resource is
// answered before a bad body. It may be called more than once.
type Input[T any] func() (T, error)

// Given is an Input that is at hand.
func Given[T any](v T) Input[T] { return func() (T, error) { return v, nil } }

// Empty is the body of a request that takes no fields, and fails if it has some.
// It is told when an Input would be. Nil is no body.
type Empty func() error

func (e Empty) check() error {
	if e == nil {
		return nil
	}
	return e()
}

// Match tells whether a resource is still as the caller's If-Match says. Nil
// matches everything.
type Match[T any] func(current T) bool

func (m Match[T]) check(current T) error {
	if m != nil && !m(current) {
		return cms.ErrPreconditionFailed
	}
	return nil
}

// Ref names a locale, page, route or publish: by id, or by its code or pathname within
// a site. With an id, SiteID may still be given and must then be its site.
type Ref struct {
	ID     cms.ID
	Name   string
	SiteID cms.ID
}
