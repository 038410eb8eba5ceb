package service

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"

	"galley/internal/cms"
)

// A verb that writes has one shape: within inSite or inTx it loads a resource,
// applies a rule, saves the result, and returns it with what the audit trail
// records.

// inSite runs a verb in a transaction that has locked the site of a target.
// Writers of one site wait for each other here, without a connection; for those
// of other nodes they wait in the database.
func inSite[T any](ctx context.Context, s *Service, who Caller, t target, lock cms.Lock, verb func(cms.Tx, siteSnapshot) (T, []written, error)) (result T, err error) {
	siteID, err := s.locate(ctx, who, t)
	run := func() (err error) {
		result, err = inTx(ctx, s, who, func(tx cms.Tx) (none T, _ []written, err error) {
			f, err := s.lockSite(ctx, tx, who, t, siteID, lock)
			if err != nil {
				return none, nil, err
			}
			return verb(tx, f)
		})
		return err
	}
	if err != nil || siteID == cms.NoID {
		err = run() // it is refused, and does not wait
	} else {
		err = s.holdSite(ctx, siteID, lock, run)
	}
	return result, err
}

// inTx runs a verb in a transaction: the one that the context carries, or else a
// new one.
func inTx[T any](ctx context.Context, s *Service, who Caller, verb func(cms.Tx) (T, []written, error)) (result T, err error) {
	run := func(tx cms.Tx) (err error) {
		var writes []written
		if result, writes, err = verb(tx); err != nil || len(writes) == 0 {
			return err
		}
		return s.record(ctx, tx, who.actor(), writes...)
	}
	if open, ok := ctx.Value(openTxKey{}).(*openTx); ok {
		err = run(open.tx)
	} else {
		err = s.write(ctx, run)
	}
	return result, err
}

// apply applies a rule to a resource, and reports whether that changes it. What is
// wrong with the body is reported before a failed match.
func (m Match[T]) apply(before T, rule func(T) (T, error)) (after T, changed bool, err error) {
	if after, err = rule(before); err == nil {
		err = m.check(before)
	}
	return after, !reflect.DeepEqual(before, after), err
}

func (m Match[T]) check(current T) error {
	if m != nil && !m(current) {
		return cms.ErrPreconditionFailed
	}
	return nil
}

// locate finds the site of a target, which never changes. It returns NoID where
// the caller may not reach the site or the target names another.
func (s *Service) locate(ctx context.Context, who Caller, t target) (cms.ID, error) {
	kind, id := t.kind, t.ref.ID
	if id == cms.NoID {
		kind, id = cms.KindSite, t.ref.SiteID
	}
	known, ok := s.locations.GetIfPresent(id)
	if !ok {
		var r cms.Reader = s.store
		if open, ok := ctx.Value(openTxKey{}).(*openTx); ok {
			r = open.tx // a second connection may not be free
		}
		known.siteID = id
		if kind != cms.KindSite {
			var err error
			if known.siteID, err = r.SiteOf(ctx, kind, id); err != nil {
				return cms.NoID, err
			}
		}
		site, err := r.Site(ctx, known.siteID)
		if err != nil {
			return cms.NoID, err
		}
		known.workspaceID = site.WorkspaceID
		s.locations.Set(id, known)
	}
	if known.workspaceID != who.WorkspaceID() || !who.mayReach(known.siteID) ||
		(t.ref.SiteID != cms.NoID && t.ref.SiteID != known.siteID) {
		return cms.NoID, nil
	}
	return known.siteID, nil
}

type location struct{ siteID, workspaceID cms.ID }

const maxLocations = 100_000

// holdSite runs a function while this node holds a site for it. A keyed request
// has a transaction open already, and holds the site until that ends.
func (s *Service) holdSite(ctx context.Context, siteID cms.ID, lock cms.Lock, run func() error) error {
	if !s.store.Shared() {
		return run() // the store of a single node has one writer
	}
	units := int64(1)
	if lock == cms.LockExclusive {
		units = siteWriters
	}
	open, ok := ctx.Value(openTxKey{}).(*openTx)
	switch {
	case !ok:
		release, err := s.sites.acquire(ctx, siteID, units)
		if err != nil {
			return err
		}
		defer release()
	case open.siteID != siteID || open.units < units:
		release, free := s.sites.tryAcquire(siteID, units)
		if !free {
			return &siteNeededError{siteID, units}
		}
		open.hold(siteID, units, release)
	}
	return run()
}

// openTx is the transaction of a keyed request, which writes within it join, and
// the site that it holds.
type openTx struct {
	tx      cms.Tx
	needs   cms.Needs
	siteID  cms.ID
	units   int64
	release func() // nil: it holds no site
}

type openTxKey struct{}

// hold releases the site that the transaction holds, and notes another or none.
func (o *openTx) hold(siteID cms.ID, units int64, release func()) {
	if o.release != nil {
		o.release()
	}
	o.siteID, o.units, o.release = siteID, units, release
}

// siteNeededError asks for an open transaction to be run again with a site held.
// If it waited with its connection, the holder might not get one.
type siteNeededError struct {
	siteID cms.ID
	units  int64
}

func (*siteNeededError) Error() string { return "the site has to be held first" }

// writeOpen is write for a transaction that others join by its context.
func (s *Service) writeOpen(ctx context.Context, do func(ctx context.Context, tx cms.Tx) error) error {
	open := &openTx{}
	defer func() { open.hold(cms.NoID, 0, nil) }()
	for {
		err := s.write(ctx, func(tx cms.Tx) error {
			open.tx, open.needs = tx, cms.Needs{}
			return do(context.WithValue(ctx, openTxKey{}, open), tx)
		})
		needed, ok := errors.AsType[*siteNeededError](err)
		if !ok {
			return err
		}
		open.hold(cms.NoID, 0, nil)
		release, err := s.sites.acquire(ctx, needed.siteID, needed.units)
		if err != nil {
			return err
		}
		open.hold(needed.siteID, needed.units, release)
	}
}

// need notes what a keyed request needs a right to.
func need(ctx context.Context, note func(*cms.Needs)) {
	if open, ok := ctx.Value(openTxKey{}).(*openTx); ok {
		note(&open.needs)
	}
}

type rowsKey struct{}

// CountRows returns a context in which the rows that a request touches are
// counted.
func CountRows(ctx context.Context) (context.Context, *atomic.Int64) {
	rows := new(atomic.Int64)
	return context.WithValue(ctx, rowsKey{}, rows), rows
}

// touched counts rows that a request has touched.
func touched(ctx context.Context, rows int) {
	if counter, ok := ctx.Value(rowsKey{}).(*atomic.Int64); ok {
		counter.Add(int64(rows))
	}
}
