package httpapi

import (
	"bytes"
	"encoding/json"
	"slices"

	"galley/internal/cms"
	"galley/internal/service"
)

// Event is a write, as others are told of it.
type Event struct {
	Object        string          `json:"object" enum:"event" doc:"Always event."`
	ID            cms.ID          `json:"id" doc:"Identifier of the event, and a cursor."`
	Type          cms.EventType   `json:"type" doc:"What happened." example:"page.updated"`
	At            timestamp       `json:"at" doc:"When the write happened."`
	WorkspaceID   cms.ID          `json:"workspaceId" doc:"The workspace."`
	SiteID        *cms.ID         `json:"siteId" doc:"The site; null for apps and webhooks."`
	Locale        *string         `json:"locale" doc:"Code of the locale of a localized write, or null." example:"fr"`
	Actor         EventActor      `json:"actor" doc:"Who wrote. A scheduled publish has the app and the person that scheduled it."`
	RequestID     *cms.ID         `json:"requestId" doc:"The request, as X-Request-Id named it; null where there was none."`
	Data          json.RawMessage `json:"data" doc:"The resource after the write, or before it for a deletion, as a GET shows it, without keys, tokens and secrets."`
	ChangedFields []string        `json:"changedFields" nullable:"true" doc:"For an update, the fields whose stored value changed: content for the content of a page; key, publicApiKey or secret for a rotation. Null for other types." example:"[\"title\"]"`
	URLs          *EventURLs      `json:"urls,omitempty" doc:"For publish.published: the URLs that changed, at most 1,000."`
	URLsTruncated *bool           `json:"urlsTruncated,omitempty" doc:"For publish.published: whether the publish changed more URLs than are listed here." example:"false"`
}

// EventURLs are the URLs that a publish changed, for caches.
type EventURLs struct {
	Changed []string `json:"changed" doc:"URLs that show something else, or resolve to something else." example:"[\"https://www.example.com/about\"]"`
	Removed []string `json:"removed" doc:"URLs that resolve to nothing any more." example:"[\"https://www.example.com/old\"]"`
}

// EventActor is who wrote.
type EventActor struct {
	AppID *cms.ID `json:"appId" doc:"The app; null for the operator at the command line."`
	Name  *string `json:"name" doc:"The person for whom the app wrote, as X-Actor named them; null if it named none." example:"ada@example.com"`
}

func newEvent(e cms.Event) Event {
	wire := Event{
		Object: "event", ID: e.ID, Type: e.Type, At: newTimestamp(e.At()), WorkspaceID: e.WorkspaceID, SiteID: nullID(e.SiteID),
		Locale: nullText(e.Locale), Actor: EventActor{nullID(e.AppID), nullText(e.Actor)}, RequestID: nullID(e.RequestID), Data: e.After,
	}
	if wire.Data == nil {
		wire.Data = e.Before
	}
	if e.Kind == cms.KindPage {
		wire.Data = withoutContent(wire.Data)
	}
	if e.Type.IsUpdate() {
		wire.ChangedFields = append([]string{}, e.Fields...) // an empty list is not null
	}
	if e.URLs != nil {
		wire.URLs, wire.URLsTruncated = &EventURLs{e.URLs.Changed, e.URLs.Removed}, &e.URLs.Truncated
	}
	return wire
}

// withoutContent removes the digest that the audit trail has in place of a content. A
// quote within a text is escaped, so the key is found nowhere else.
func withoutContent(page []byte) []byte {
	before, after, found := bytes.Cut(page, []byte(`,"content":"`))
	if !found {
		return page
	}
	return slices.Concat(before, after[bytes.IndexByte(after, '"')+1:])
}

func (q *query) events() service.ReadEvents {
	return service.ReadEvents{SiteID: q.siteID, Types: q.types, Since: q.since, ListQuery: q.list}
}

func (a *API) listEvents(r *request) (response, error) {
	list, err := a.svc.Events(r.Context(), r.who, r.query.events())
	return ok(newList(list, newEvent)), err
}
