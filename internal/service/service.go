// Package service holds the verbs: it authorises the caller, loads, applies a
// rule of the domain and saves, a file for each noun. It knows neither SQL nor
// HTTP.
package service

import (
	"context"
	"sync"
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
	// Notify sends what a commit changed to the other nodes. It does not wait, and a
	// notification may be lost.
	Notify(changed []cms.Subject)
	// Listen reports what others change until the context ends, and whether it is
	// connected. A change without subjects may be one of anything.
	Listen(ctx context.Context, changed func(...cms.Subject), listening func(bool))
}

// Service runs the requests of callers.
type Service struct {
	Guard   Guard    // against publishing most of a site away
	Replica *Replica // nil: every read goes to the store
	Sender  Sender   // to the receivers of webhooks

	// SecretKey returns the key of 32 bytes that encrypts the secrets of webhooks; nil:
	// there are no webhooks.
	SecretKey func() ([]byte, error)
	// EncodeEvent encodes an event as it is sent.
	EncodeEvent func(cms.Event) []byte

	EventRetention time.Duration // 0: forever

	store      Store
	clock      func() time.Time
	encode     AuditState
	changes    changes
	callers    *otter.Cache[cms.KeyHash, knownCaller]
	snapshots  *otter.Cache[cms.ID, siteSnapshot]
	positions  *positions
	usage      usage
	underWay   sync.Map // of the keyed requests that this node is answering
	bigWork    bigWork
	sites      *semaphores // of sites that are written to
	reviews    *semaphores // of workspaces whose changes are listed
	allReviews *semaphore.Weighted
	locations  *otter.Cache[cms.ID, location]
	events     *eventLog
	webhooks   *webhookNode

	knownReviews *otter.Cache[string, reviewed] // by site and selection
}

// AuditState encodes a resource for the audit trail, as JSON and without secrets.
type AuditState func(resource any) []byte

// New returns a service on a store. Tests pass a clock other than time.Now.
func New(store Store, clock func() time.Time, encode AuditState) *Service {
	return &Service{
		store: store, clock: clock, encode: encode, Guard: DefaultGuard, EventRetention: DefaultEventRetention, positions: newPositions(), events: newEventLog(),
		usage:        usage{used: map[cms.ID]use{}},
		webhooks:     newWebhookNode(),
		bigWork:      bigWork{jobs: newSemaphores(1, maxBigJobs)},
		sites:        newSemaphores(siteWriters, maxSiteUsers),
		reviews:      newSemaphores(maxReviews-1, maxReviewUsers),
		allReviews:   semaphore.NewWeighted(maxReviews),
		callers:      newCache[cms.KeyHash, knownCaller](maxCallers),
		snapshots:    newCache[cms.ID, siteSnapshot](maxSnapshots),
		locations:    newCache[cms.ID, location](maxLocations),
		knownReviews: newCache[string, reviewed](maxKnownReviews),
	}
}

func newCache[K comparable, V any](size int) *otter.Cache[K, V] {
	return otter.Must(&otter.Options[K, V]{MaximumSize: size})
}

// Input returns the body of a request. It is called once the right to the resource
// in the address is checked, since a missing right or resource is reported before
// a bad body. It may be called more than once.
type Input[T any] func() (T, error)

// Given is an Input with a known value.
func Given[T any](v T) Input[T] { return func() (T, error) { return v, nil } }

// Empty checks the body of a request that takes no fields. It is called when an
// Input would be. Nil is no body.
type Empty func() error

func (e Empty) check() error {
	if e == nil {
		return nil
	}
	return e()
}

// Match reports whether a resource still matches the If-Match of the request. Nil
// matches everything.
type Match[T any] func(current T) bool

// Ref names a locale, page, route, publish or preview: by id, or by its code or pathname within
// a site. With an id, SiteID may still be given and must then be its site.
type Ref struct {
	ID     cms.ID
	Name   string
	SiteID cms.ID
}
