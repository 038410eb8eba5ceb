package cms

import (
	"encoding/binary"
	"slices"
	"time"
)

// AuditEntry is the record of one write, stored in the write's transaction.
type AuditEntry struct {
	ID          ID // a UUIDv7: the order of ids is the order of writes
	WorkspaceID ID
	AppID       ID     // NoID: the operator, or the service by itself
	AppName     string // as the app is named when the entry is read; not stored
	Actor       string // the person, as the request named them; "": it named none
	RequestID   ID     // NoID: no request
	Operation   string
	Kind        Kind
	ResourceID  ID
	SiteID      ID     // NoID: of no site
	Before      []byte // JSON, without secrets; nil: there was nothing
	After       []byte // nil: nothing is left

	// Of the event that the write is:
	Type   EventType // "": it is none
	Locale string    // the code; "": none
	Fields []string  // that an update changed
}

// At is when the write happened.
func (e AuditEntry) At() time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(e.ID[:8]) >> 16)).UTC()
}

// AuditQuery asks for one page of a workspace's audit trail, newest first.
// NoID, "" and nil leave a filter out.
type AuditQuery struct {
	ListQuery
	WorkspaceID ID
	SiteID      ID
	ResourceID  ID
	AppID       ID
	Operation   string
	Sites       []ID // only entries of these sites
	Since       *time.Time
	Until       *time.Time // exclusive
}

// Admits reports whether the query lists an entry, on any page.
func (q AuditQuery) Admits(e AuditEntry) bool {
	from, to := q.Range()
	return e.WorkspaceID == q.WorkspaceID &&
		(q.Sites == nil || slices.Contains(q.Sites, e.SiteID)) &&
		(q.SiteID == NoID || q.SiteID == e.SiteID) &&
		(q.ResourceID == NoID || q.ResourceID == e.ResourceID) &&
		(q.AppID == NoID || q.AppID == e.AppID) &&
		(q.Operation == "" || q.Operation == e.Operation) &&
		CompareIDs(e.ID, from) >= 0 && CompareIDs(e.ID, to) < 0
}

// Range is the time range of the query as ids. The end is exclusive.
func (q AuditQuery) Range() (from, to ID) {
	from, to = NoID, LastID
	if q.Since != nil {
		from = AuditBefore(*q.Since)
	}
	if q.Until != nil {
		to = AuditBefore(*q.Until)
	}
	return from, to
}

// maxIDTime is the last millisecond that a UUIDv7 can hold.
const maxIDTime = 1<<48 - 1

// AuditBefore is the least id that an entry can have at a time: the ids of all
// earlier entries are below it.
func AuditBefore(t time.Time) ID {
	ms := t.UnixMilli()
	if time.UnixMilli(ms).Before(t) {
		ms++
	}
	var id ID
	binary.BigEndian.PutUint64(id[:8], uint64(min(max(ms, 0), maxIDTime))<<16)
	return id
}
