// Package service holds the verbs: it authorises the caller, loads, applies a
// rule of the domain and saves, a file for each noun. It knows neither SQL nor
// HTTP.
package service

import (
	"time"

	"galley/internal/cms"
)

// Service does what callers ask for, as far as they may.
type Service struct {
	Guard   Guard    // against publishing most of a site away
	Replica *Replica // nil: every read goes to the store

	store     cms.Store
	clock     func() time.Time
	depict    Depict
	changes   changes
	callers   callers
	forms     forms
	positions *positions
	shelves   *shelves // nil: none
	usage     usage
	underWay  underWay
	reviews   *gate
	dueSites  dueSites
}

// Depict turns a resource into what the audit trail shows of it, as JSON and
// without secrets. The edge knows how.
type Depict func(resource any) []byte

// New makes a service on a store. Only tests hand in a clock other than
// time.Now.
func New(store cms.Store, clock func() time.Time, depict Depict) *Service {
	return &Service{store: store, clock: clock, depict: depict, Guard: DefaultGuard, positions: newPositions(), reviews: newGate()}
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
