package cms

import (
	"slices"
	"strings"
	"time"
)

// EventType is what happened to which kind of resource.
type EventType string

// EventPublished is the type of the events that have lists of URLs.
const EventPublished EventType = "publish.published"

// EventTypes are all types. Those that belong to no site are the last ones.
var EventTypes = []EventType{
	"site.created", "site.updated", "site.deleted", "site.restored", "site.duplicated",
	"locale.created", "locale.updated", "locale.deleted", "locale.restored",
	"page.created", "page.updated", "page.deleted", "page.restored", "page.discarded",
	"route.created", "route.updated", "route.deleted",
	"redirect.created", "redirect.updated", "redirect.deleted", "redirect.restored", "redirect.discarded",
	"preview.created", "preview.deleted",
	"publish.scheduled", EventPublished, "publish.failed", "publish.canceled",
	"app.created", "app.updated", "app.deleted", "webhook.created", "webhook.updated", "webhook.deleted",
}

// SiteEventTypes are the types of events that belong to a site.
var SiteEventTypes = EventTypes[:slices.Index(EventTypes, "app.created")]

// NeedsAdmin reports whether events of the type are for apps with the scope admin.
func (t EventType) NeedsAdmin() bool {
	return !slices.Contains(SiteEventTypes, t)
}

// IsUpdate reports whether events of the type name the fields that changed.
func (t EventType) IsUpdate() bool { return strings.HasSuffix(string(t), ".updated") }

// Event is an audit entry with a type and its place in the order of the workspace's
// events. Whoever has read the events up to a position has read every event that was
// committed and numbered by then: a later one has a higher position.
type Event struct {
	AuditEntry
	Position int64      // from 1 on, in the workspace
	URLs     *EventURLs // of a publish that went live; nil: of another type
}

// EventQuery asks for events of a workspace, by position. NoID and nil leave a filter
// out.
type EventQuery struct {
	WorkspaceID ID
	SiteID      ID   // of the workspace
	Sites       []ID // only events of these sites of the workspace
	Types       []EventType
	Since       *time.Time // only events of this time or later
	After       int64      // only events with a higher position
	Limit       int
}

// Admits reports whether the query lists an event.
func (q EventQuery) Admits(e Event) bool {
	return e.WorkspaceID == q.WorkspaceID && e.Position > q.After &&
		(q.SiteID == NoID || q.SiteID == e.SiteID) &&
		(q.Sites == nil || slices.Contains(q.Sites, e.SiteID)) &&
		(q.Types == nil || slices.Contains(q.Types, e.Type)) &&
		(q.Since == nil || CompareIDs(e.ID, AuditBefore(*q.Since)) >= 0)
}

// ErrGone is the error for a cursor that is older than the events that are kept.
var ErrGone = &Error{Code: CodeGone, Message: "Events are no longer kept from this position on, begin without a cursor"}
