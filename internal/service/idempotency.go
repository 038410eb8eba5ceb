package service

import (
	"context"
	"sync"

	"galley/internal/cms"
)

// Once is a request that is to take effect once, however often it is sent.
type Once struct {
	Key     string
	Request cms.KeyHash // of the address and body
}

var (
	errUnderWay     = cms.Conflict("A request with this Idempotency-Key is under way")
	errOtherRequest = cms.BadField("Idempotency-Key", "was used for another request")
)

// Answered is the answer to a request that takes effect once.
type Answered struct {
	Status   int
	Location string
	Body     []byte
	Sealed   bool
}

// repeat is the answer that was kept for the request, if the caller could still
// make the request.
func (o Once) repeat(ctx context.Context, r cms.Reader, who Caller, kept cms.KeptAnswer, err error) (Answered, error) {
	if err == nil && kept.Request != o.Request {
		err = errOtherRequest
	}
	if err == nil {
		err = who.mayRepeat(ctx, r, kept.Needs)
	}
	return Answered{kept.Status, kept.Location, kept.Body, kept.Sealed}, err
}

func (c Caller) mayRepeat(ctx context.Context, r cms.Reader, needs cms.Needs) error {
	if needs.Site != nil {
		if *needs.Site == cms.NoID {
			return c.mayCreateSites()
		}
		if _, err := c.site(ctx, r, *needs.Site); err != nil {
			return err
		}
	}
	if needs.App == nil {
		return nil
	}
	app, err := r.AppOf(ctx, *needs.App)
	if err != nil {
		return err
	}
	return c.mayManage(app)
}

// mayCreateSites refuses an app that is restricted to some sites.
func (c Caller) mayCreateSites() error {
	if c.App.SiteIDs != nil {
		return cms.Forbidden("An app restricted to sites can't create sites")
	}
	return nil
}

// need notes what a request needs a right to, if its answer is kept.
func need(ctx context.Context, note func(*cms.Needs)) {
	if open, ok := ctx.Value(openTxKey{}).(*openTx); ok {
		note(&open.needs)
	}
}

// noted is what a request was noted to need.
func noted(ctx context.Context) (needs cms.Needs) {
	need(ctx, func(n *cms.Needs) { needs = *n })
	return needs
}

// Do runs a request in one transaction with the keeping of its answer, unless
// it has been answered: then it repeats that answer. Only what run returns
// without an error is kept. The service's own transactions within run join the
// one transaction.
func (s *Service) Do(ctx context.Context, who Caller, once Once, run func(context.Context) (Answered, error)) (Answered, error) {
	since := s.now().Add(-cms.KeptFor)
	// Once the first is answered nobody waits, not even for another twin.
	if kept, err := s.store.KeptAnswer(ctx, who.ID(), once.Key, since); cms.CodeOf(err) != cms.CodeNotFound {
		return once.repeat(ctx, s.store, who, kept, err)
	}
	release, free := s.underWay.take(requestName{who.ID(), once.Key})
	if !free {
		return Answered{}, errUnderWay
	}
	defer release()
	var answered Answered
	err := s.writeOpen(ctx, func(ctx context.Context, tx cms.Tx) error {
		if taken, err := tx.LockRequest(ctx, who.ID(), once.Key); err != nil || !taken {
			if err == nil {
				err = errUnderWay
			}
			return err
		}
		kept, err := tx.KeptAnswer(ctx, who.ID(), once.Key, since)
		if cms.CodeOf(err) != cms.CodeNotFound {
			answered, err = once.repeat(ctx, tx, who, kept, err)
			return err
		}
		if answered, err = run(ctx); err != nil {
			return err
		}
		return tx.KeepAnswer(ctx, cms.KeptAnswer{
			Credential: who.ID(), Key: once.Key, Request: once.Request, Status: answered.Status,
			Location: answered.Location, Body: answered.Body, Sealed: answered.Sealed, Needs: noted(ctx), At: s.now(),
		})
	})
	return answered, err
}

// ForgetAnswers drops the answers that are no longer repeated.
func (s *Service) ForgetAnswers(ctx context.Context) error {
	before := s.now().Add(-cms.KeptFor)
	return s.inChunks(ctx, func(tx cms.Tx, limit int) (int, error) { return tx.ForgetAnswers(ctx, before, limit) })
}

// requestName names a request as its sender does.
type requestName struct {
	credential cms.ID
	key        string
}

// underWay are the named requests that this node is answering. Nodes know of
// each other's through the store.
type underWay struct {
	mu    sync.Mutex
	names map[requestName]bool
}

func (u *underWay) take(name requestName) (release func(), free bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names[name] {
		return nil, false
	}
	if u.names == nil {
		u.names = map[requestName]bool{}
	}
	u.names[name] = true
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.names, name)
	}, true
}
