package service

import (
	"context"
	"time"

	"galley/internal/cms"
)

// Once is a request that takes effect once, however often it is sent.
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

// repeat returns the stored answer, if the caller still has the rights that the
// request needs.
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
		if _, err := c.checkSite(r.Site(ctx, *needs.Site)); err != nil {
			return err
		}
	}
	if needs.Webhook != nil {
		webhook, err := r.Webhook(ctx, *needs.Webhook)
		if err == nil {
			err = c.reachesWebhook(webhook)
		}
		if err != nil {
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

// Do runs a request and stores its answer in one transaction, or repeats the answer
// that is stored. Errors of run are not stored. The transactions of the service
// within run join this one.
func (s *Service) Do(ctx context.Context, who Caller, once Once, run func(context.Context) (Answered, error)) (Answered, error) {
	since := s.now().Add(-cms.KeptFor)
	// A request that has been answered waits for no other.
	if kept, err := s.store.KeptAnswer(ctx, who.ID(), once.Key, since); cms.CodeOf(err) != cms.CodeNotFound {
		return once.repeat(ctx, s.store, who, kept, err)
	}
	name := requestName{who.ID(), once.Key}
	if _, running := s.underWay.LoadOrStore(name, true); running {
		return Answered{}, errUnderWay
	}
	defer s.underWay.Delete(name)
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
		var needs cms.Needs
		need(ctx, func(n *cms.Needs) { needs = *n })
		return tx.KeepAnswer(ctx, cms.KeptAnswer{
			Credential: who.ID(), Key: once.Key, Request: once.Request, Status: answered.Status,
			Location: answered.Location, Body: answered.Body, Sealed: answered.Sealed, Needs: needs, At: s.now(),
		})
	})
	return answered, err
}

// ForgetAnswers removes the answers that are no longer repeated.
func (s *Service) ForgetAnswers(ctx context.Context) error {
	before := s.now().Add(-cms.KeptFor)
	return s.inChunks(ctx, func(tx cms.Tx, limit int) (int, error) { return tx.ForgetAnswers(ctx, before, limit) })
}

// requestName identifies a keyed request.
type requestName struct {
	credential cms.ID
	key        string
}

// AcquireLease reports whether this node is to run a periodic job that one node
// runs for all: no other has had the lease since a time ago. A lease is stored
// like the answer to a keyed request; one that a dead node holds expires.
func (s *Service) AcquireLease(ctx context.Context, job string, since time.Duration) (mine bool, err error) {
	err = s.write(ctx, func(tx cms.Tx) error {
		mine = false
		free, err := tx.LockRequest(ctx, cms.NoID, job)
		if err != nil || !free {
			return err
		}
		now := s.now()
		last, err := tx.KeptAnswer(ctx, cms.NoID, job, now.Add(-since))
		switch {
		case err != nil && cms.CodeOf(err) != cms.CodeNotFound:
			return err
		case err == nil && !last.At.After(now.Add(since)): // later than that, a clock was wrong
			return nil
		}
		mine = true
		return tx.KeepAnswer(ctx, cms.KeptAnswer{Credential: cms.NoID, Key: job, Body: []byte{}, At: now})
	})
	return mine && err == nil, err
}
