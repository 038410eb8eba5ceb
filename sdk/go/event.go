package galley

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"
)

// Event is a write, as others are told of it.
type Event struct {
	ID            string          `json:"id"`
	Type          string          `json:"type"` // such as page.updated
	At            time.Time       `json:"at"`
	WorkspaceID   string          `json:"workspaceId"`
	SiteID        *string         `json:"siteId"`
	Locale        *string         `json:"locale"`
	Actor         EventActor      `json:"actor"`
	RequestID     *string         `json:"requestId"`
	Data          json.RawMessage `json:"data"`          // the resource
	ChangedFields []string        `json:"changedFields"` // nil unless the type ends in .updated
	URLs          *EventURLs      `json:"urls"`          // of publish.published
	URLsTruncated bool            `json:"urlsTruncated"`
}

// EventActor is who wrote.
type EventActor struct {
	AppID *string `json:"appId"`
	Name  *string `json:"name"`
}

// EventURLs are the URLs at which a publish changed what visitors get.
type EventURLs struct {
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`
}

// EventQuery selects events.
type EventQuery struct {
	ListOptions
	SiteID string    `query:"siteId"`
	Types  []string  `query:"types"`
	Since  time.Time `query:"since"`
}

// Events are the events of the workspace.
type Events struct{ c *Client }

// List returns one page of events, oldest first.
func (s *Events) List(ctx context.Context, query EventQuery, options ...RequestOption) (List[Event], error) {
	return get[List[Event]](ctx, s.c, "/v2/events", query, options)
}

// All walks through the events that there are.
func (s *Events) All(ctx context.Context, query EventQuery, options ...RequestOption) iter.Seq2[Event, error] {
	return walk(query.ListOptions, func(x Event) string { return x.ID }, func(page ListOptions) (List[Event], error) {
		query.ListOptions = page
		return s.List(ctx, query, options...)
	})
}

// Stream follows events as they happen, from the cursor of the query or from now on. When
// the connection ends it connects again and goes on after the last event, so that none is
// missed. It ends with the context, or with an error of the service.
func (s *Events) Stream(ctx context.Context, query EventQuery, options ...RequestOption) iter.Seq2[Event, error] {
	query.Limit = 0
	return func(yield func(Event, error) bool) {
		for attempt := 0; ; attempt++ {
			going, last, err := s.follow(ctx, query, options, yield)
			if !going {
				return
			}
			if last != "" {
				query.StartingAfter, attempt = last, 0
			}
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			if failed, ok := err.(*Error); ctx.Err() != nil || (ok && failed.Code != CodeTooManyRequests && failed.Code != CodeUnavailable) {
				yield(Event{}, err)
				return
			}
			_ = wait(ctx, s.c.backoff(attempt, err))
		}
	}
}

// maxEvent bounds the size of an event.
const maxEvent = 16 << 20

// follow reads one connection. going is false when the caller has enough; last is the id
// of the last event.
func (s *Events) follow(ctx context.Context, query EventQuery, options []RequestOption, yield func(Event, error) bool) (going bool, last string, err error) {
	call := call{header: s.c.headers.Clone()}
	for _, option := range options {
		option(&call)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.c.base.String()+"/v2/events/stream?"+values(query).Encode(), nil)
	if err != nil {
		return true, "", fmt.Errorf("galley: %w", err)
	}
	r.Header = call.header
	stream := *s.c.http
	stream.Timeout = 0 // a stream has no end
	response, err := stream.Do(r)
	if err != nil {
		return true, "", fmt.Errorf("galley: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxEvent)
	if response.StatusCode != http.StatusOK {
		var body bytes.Buffer
		for lines.Scan() {
			body.Write(lines.Bytes())
		}
		return true, "", newError(response, body.Bytes())
	}
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event Event
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return true, last, fmt.Errorf("galley: an event is not understood: %w", err)
		}
		last = event.ID
		if call.raw != nil {
			*call.raw = []byte(data)
		}
		if !yield(event, nil) {
			return false, last, nil
		}
	}
	return true, last, lines.Err()
}
