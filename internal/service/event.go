package service

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"galley/internal/cms"
)

// event returns the type and the locale of the event that a write is; "" if it is none.
func (w written) event(operation string, existed, exists bool) (t cms.EventType, locale string) {
	verb := "updated"
	publish, publishes := w.after.(cms.Publish)
	switch {
	case w.child, w.kind == cms.KindWorkspace, operation == purgeSite, !existed && !exists:
		return "", ""
	case publishes:
		verb = string(publish.Status)
	case operation == "duplicateSite":
		verb = "duplicated"
	case strings.HasPrefix(operation, "discard"):
		verb = "discarded"
	case strings.HasPrefix(operation, "restore"):
		verb = "restored"
	case !existed:
		verb = "created"
	case !exists:
		verb = "deleted"
	}
	switch after := w.after.(type) {
	case PageView:
		if after.Localized {
			locale = after.Locale
		}
	case RedirectView:
		locale = orEmpty(after.Locale)
	}
	return cms.EventType(string(w.kind) + "." + verb), locale
}

// rotated are the fields that operations replace and that are not shown.
var rotated = map[string]string{"rotateSiteKey": "publicApiKey", "rotateAppKey": "key", "rotateWebhookSecret": "secret"}

// changedFields are the writable fields whose stored values differ.
func changedFields(operation string, before, after any) (fields []string) {
	if field, ok := rotated[operation]; ok {
		return []string{field}
	}
	compare := func(field string, was, is any) {
		if !reflect.DeepEqual(was, is) {
			fields = append(fields, field)
		}
	}
	switch b := before.(type) {
	case PageView:
		a, _ := after.(PageView)
		compare("name", b.Name, a.Name)
		fields = append(fields, (b.Values.Diff(a.Values) | (b.own() ^ a.own())).Names()...)
	case cms.Site:
		a, _ := after.(cms.Site)
		compare("name", b.Name, a.Name)
		compare("hostOrigin", b.HostOrigin, a.HostOrigin)
		compare("defaultLocale", b.DefaultLocale.Code, a.DefaultLocale.Code)
		compare("defaultLocalePathPrefix", b.DefaultLocale.PathPrefix, a.DefaultLocale.PathPrefix)
		compare("siteKeyAccess", b.KeyAccess, a.KeyAccess)
		compare("localeManagementMode", b.LocaleMode, a.LocaleMode)
		compare("autoRedirects", b.AutoRedirects, a.AutoRedirects)
		compare("previewUrlTemplate", b.PreviewURLTemplate, a.PreviewURLTemplate)
		compare("labels", b.Labels, a.Labels)
	case LocaleView:
		a, _ := after.(LocaleView)
		compare("locale", b.Code, a.Code)
		compare("domain", b.Domain, a.Domain)
		compare("pathPrefix", b.PathPrefix, a.PathPrefix)
	case cms.Route:
		a, _ := after.(cms.Route)
		compare("pathname", b.Pathname, a.Pathname)
	case RedirectView:
		a, _ := after.(RedirectView)
		compare("source", b.Source, a.Source)
		compare("target", b.Target, a.Target)
		compare("status", b.Status, a.Status)
		compare("locale", b.LocaleID, a.LocaleID)
	case cms.App:
		a, _ := after.(cms.App)
		compare("name", b.Name, a.Name)
		compare("description", b.Description, a.Description)
		compare("scopes", b.Scopes, a.Scopes)
		compare("siteIds", b.SiteIDs, a.SiteIDs)
		compare("expiresAt", b.ExpiresAt, a.ExpiresAt)
	case cms.Webhook:
		a, _ := after.(cms.Webhook)
		compare("url", b.URL, a.URL)
		compare("types", b.Types, a.Types)
		compare("siteIds", b.SiteIDs, a.SiteIDs)
		compare("description", b.Description, a.Description)
		compare("isEnabled", b.IsEnabled, a.IsEnabled)
	}
	return fields
}

// own are the fields that are the locale's own; none in the default locale.
func (v PageView) own() cms.FieldSet {
	if !v.Localized || v.LocaleID == cms.NoID {
		return 0
	}
	return v.Own
}

// eventLog numbers events, and wakes those that follow them.
type eventLog struct {
	numbering *semaphore.Weighted
	committed chan struct{} // there may be new events

	mu        sync.Mutex
	followers map[chan struct{}]bool
}

func newEventLog() *eventLog {
	return &eventLog{numbering: semaphore.NewWeighted(1), committed: make(chan struct{}, 1), followers: map[chan struct{}]bool{}}
}

// note notes that there may be new events.
func (l *eventLog) note() { signal(l.committed) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is signaled already
	}
}

func (l *eventLog) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for follower := range l.followers {
		signal(follower)
	}
}

// SubscribeEvents returns a channel that receives a value whenever there may be new
// events with a position, also those of other nodes. Several may be one value. The caller
// must call cancel.
func (s *Service) SubscribeEvents() (wake <-chan struct{}, cancel func()) {
	follower := make(chan struct{}, 1)
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	s.events.followers[follower] = true
	return follower, func() {
		s.events.mu.Lock()
		defer s.events.mu.Unlock()
		delete(s.events.followers, follower)
	}
}

const (
	// numberChunk is how many events one transaction numbers.
	numberChunk = 1000
	// numberPause is the least time between two runs for the commits of others, so
	// that many commits share one.
	numberPause = 10 * time.Millisecond
	// sweepEvery is how often to look for events whose node was stopped before it
	// numbered them, or whose notification was lost.
	sweepEvery = 500 * time.Millisecond
)

// NumberEvents gives positions to all events that were committed before it was called.
// Where there is one writer, these are those of a store that was copied.
func (s *Service) NumberEvents(ctx context.Context) error {
	if err := s.events.numbering.Acquire(ctx, 1); err != nil {
		return cms.Unavailable(err)
	}
	defer s.events.numbering.Release(1)
	pending, err := s.store.EventsPending(ctx)
	if err != nil || !pending {
		return err
	}
	for n := numberChunk; n == numberChunk; {
		err := s.store.InTx(ctx, func(tx cms.Tx) (err error) {
			n, err = tx.NumberEvents(ctx, numberChunk)
			return err
		})
		if err != nil {
			return err
		}
	}
	s.events.wake()
	return nil
}

// FollowEvents numbers the events of this node, and of others that were stopped, and
// wakes subscribers, until the context ends. It calls failed with each error.
func (s *Service) FollowEvents(ctx context.Context, failed func(error)) {
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for s.events.note(); ; {
		select {
		case <-ctx.Done():
			return
		case <-s.events.committed:
		case <-sweep.C:
		}
		if err := s.NumberEvents(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		s.events.wake() // others may have numbered some
		select {
		case <-ctx.Done():
			return
		case <-time.After(numberPause):
		}
	}
}

// ReadEvents asks for events. Types nil is all that the caller may see.
type ReadEvents struct {
	SiteID cms.ID
	Types  []cms.EventType
	Since  *time.Time
	cms.ListQuery
}

// Events lists the events of the caller's workspace, oldest first. An app restricted to
// sites sees those of its sites.
func (s *Service) Events(ctx context.Context, who Caller, ask ReadEvents) (cms.List[cms.Event], error) {
	if err := s.NumberEvents(ctx); err != nil { // a client sees what it wrote
		return cms.List[cms.Event]{}, err
	}
	return view(ctx, s, func(r cms.Reader) (list cms.List[cms.Event], err error) {
		q, err := s.eventQuery(ctx, r, who, ask)
		if err != nil {
			return list, err
		}
		q.Limit = ask.Limit + 1
		events, err := r.Events(ctx, q)
		return cms.CutList(events, ask.Limit), err
	})
}

// StartEvents checks the caller's right to follow the events that it asks for, and
// returns the query for them: after the cursor, since a time, or else from now on.
func (s *Service) StartEvents(ctx context.Context, who Caller, ask ReadEvents) (cms.EventQuery, error) {
	if err := s.NumberEvents(ctx); err != nil {
		return cms.EventQuery{}, err
	}
	return view(ctx, s, func(r cms.Reader) (cms.EventQuery, error) {
		q, err := s.eventQuery(ctx, r, who, ask)
		if err == nil && ask.After == cms.NoID && ask.Since == nil {
			q.Since = nil
			q.After, err = r.LastPosition(ctx, q.WorkspaceID)
		}
		return q, err
	})
}

// CheckEvents is StartEvents for a stream that has begun.
func (s *Service) CheckEvents(ctx context.Context, who Caller, ask ReadEvents) (cms.EventQuery, error) {
	return s.eventQuery(ctx, s.store, who, ask)
}

// EventsAfter are events by position, without a check of rights.
func (s *Service) EventsAfter(ctx context.Context, q cms.EventQuery) ([]cms.Event, error) {
	return s.store.Events(ctx, q)
}

// LastEvent is the last position of a workspace.
func (s *Service) LastEvent(ctx context.Context, workspaceID cms.ID) (int64, error) {
	return s.store.LastPosition(ctx, workspaceID)
}

// eventQuery checks the caller's right to the events that it asks for, and finds the
// position of its cursor.
func (s *Service) eventQuery(ctx context.Context, r cms.Reader, who Caller, ask ReadEvents) (cms.EventQuery, error) {
	q := cms.EventQuery{WorkspaceID: who.WorkspaceID(), SiteID: ask.SiteID, Sites: who.App.SiteIDs, Types: ask.Types, Since: ask.Since}
	if q.SiteID != cms.NoID {
		site, err := r.Site(ctx, q.SiteID) // a deleted one has events, too
		if err == nil {
			err = who.reaches(site)
		}
		if err != nil {
			return q, err
		}
	}
	if !who.App.Has(cms.ScopeAdmin) {
		if slices.ContainsFunc(q.Types, cms.EventType.NeedsAdmin) {
			return q, cms.Forbidden("Events of apps and webhooks need the scope " + string(cms.ScopeAdmin))
		}
		if q.Types == nil {
			q.Types = cms.SiteEventTypes
		}
	}
	oldest := s.oldestEvent()
	if ask.After == cms.NoID {
		if q.Since == nil || q.Since.Before(oldest) {
			q.Since = &oldest
		}
		return q, nil
	}
	cursor, err := r.Event(ctx, q.WorkspaceID, ask.After)
	switch {
	case err != nil && cms.CodeOf(err) != cms.CodeNotFound:
		return q, err
	case ask.After.Version() == timeVersion && cms.AuditEntry{ID: ask.After}.At().Before(oldest):
		return q, cms.ErrGone
	case err != nil:
		return q, cms.ErrCursor
	}
	q.After = cursor.Position
	return q, nil
}

// DefaultEventRetention is how long events are kept unless another time is configured.
const DefaultEventRetention = 30 * 24 * time.Hour

// timeVersion is the version of UUIDs that have a time.
const timeVersion = 7

// oldestEvent is the time from which events are kept.
func (s *Service) oldestEvent() time.Time {
	if s.EventRetention == 0 {
		return time.Time{}
	}
	return s.now().Add(-s.EventRetention)
}

// PurgeEvents removes for good the events that are older than the retention, if there is
// one.
func (s *Service) PurgeEvents(ctx context.Context) error {
	if s.EventRetention == 0 {
		return nil
	}
	workspaces, err := s.store.Workspaces(ctx)
	for _, w := range workspaces {
		if err == nil {
			err = s.inChunks(ctx, func(tx cms.Tx, limit int) (int, error) { return tx.PurgeEvents(ctx, w.ID, s.oldestEvent(), limit) })
		}
	}
	return err
}
