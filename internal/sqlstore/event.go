package sqlstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"galley/internal/cms"
)

// An event is an audit entry with a row in event, which has its place in the order of
// the workspace. A position must not become visible before a lower one. SQLite has one
// writer, so a position is given when the event is recorded. On PostgreSQL an event is
// recorded in event_pending, with a number from a sequence, and moves to event in a later
// transaction: it is given a position only once its commit is visible, under a lock that
// is held until the positions are visible, too.

// recordEvents records the entries that are events.
func (q queries) recordEvents(ctx context.Context, entries []cms.AuditEntry) error {
	events := slices.DeleteFunc(slices.Clone(entries), func(e cms.AuditEntry) bool { return e.Type == "" })
	if q.dialect.lockEvents == "" {
		return q.addEvents(ctx, events)
	}
	var args []any
	for _, e := range events {
		args = append(args, e.WorkspaceID, e.ID, e.SiteID, e.Type, nullText(e.Locale), nullText(strings.Join(e.Fields, ",")))
	}
	_, err := q.insert(ctx, false, `event_pending (workspace_id, id, site_id, type, locale, fields)`, 6, args, "")
	return err
}

// addEvents stores events with the next positions of their workspaces. Most writes have one.
func (q queries) addEvents(ctx context.Context, events []cms.AuditEntry) error {
	if len(events) == 1 {
		e := events[0]
		return q.run(ctx, `insert into event (workspace_id, position, id, site_id, type, locale, fields)
			select ?, coalesce(max(position), 0) + 1, ?, ?, ?, ?, ? from event where workspace_id = ?`,
			e.WorkspaceID, e.ID, e.SiteID, e.Type, nullText(e.Locale), nullText(strings.Join(e.Fields, ",")), e.WorkspaceID)
	}
	last := map[cms.ID]int64{}
	var args []any
	for _, e := range events {
		if _, known := last[e.WorkspaceID]; !known {
			position, err := q.LastPosition(ctx, e.WorkspaceID)
			if err != nil {
				return err
			}
			last[e.WorkspaceID] = position
		}
		last[e.WorkspaceID]++
		args = append(args, e.WorkspaceID, last[e.WorkspaceID], e.ID, e.SiteID, e.Type, nullText(e.Locale), nullText(strings.Join(e.Fields, ",")))
	}
	_, err := q.insert(ctx, false, `event (workspace_id, position, id, site_id, type, locale, fields)`, 7, args, "")
	return err
}

func (q queries) LastPosition(ctx context.Context, workspaceID cms.ID) (int64, error) {
	return value[int64](ctx, q, `select coalesce(max(position), 0) from event where workspace_id = ?`, workspaceID)
}

func (q queries) EventsPending(ctx context.Context) (bool, error) {
	first, err := values[int64](ctx, q, `select number from event_pending order by number limit 1`)
	return len(first) > 0, err
}

// pendingEvent is an event without a position.
type pendingEvent struct {
	number int64
	cms.AuditEntry
}

func scanPendingEvent(r row) (e pendingEvent, err error) {
	var locale, fields *string
	err = r.Scan(&e.number, &e.WorkspaceID, &e.ID, &e.SiteID, &e.Type, &locale, &fields)
	e.Locale, e.Fields = orEmpty(locale), splitFields(fields)
	return e, err
}

func splitFields(fields *string) []string {
	if fields == nil {
		return nil
	}
	return strings.Split(*fields, ",")
}

func (q queries) NumberEvents(ctx context.Context, limit int) (int, error) {
	if q.dialect.lockEvents != "" {
		if err := q.run(ctx, q.dialect.lockEvents); err != nil {
			return 0, err
		}
	}
	pending, err := all(ctx, q, scanPendingEvent, `select number, workspace_id, id, site_id, type, locale, fields from event_pending order by number`+atMost(limit))
	if err != nil {
		return 0, err
	}
	events, numbers := make([]cms.AuditEntry, len(pending)), make([]any, len(pending))
	for i, e := range pending {
		events[i], numbers[i] = e.AuditEntry, e.number
	}
	if err := q.addEvents(ctx, events); err != nil {
		return 0, err
	}
	// Each by its number: others with lower ones may have become visible meanwhile.
	for chunk := range slices.Chunk(numbers, idChunk) {
		if err := q.run(ctx, `delete from event_pending where number in (`+marks(len(chunk))+`)`, chunk...); err != nil {
			return 0, err
		}
	}
	return len(pending), nil
}

// eventRead reads the events of a subquery.
func eventRead(from string) string {
	return `select e.workspace_id, e.id, e.site_id, e.resource_id, e.app_id, e.request_id, e.kind, e.operation, e.actor, e.states, a.name, v.type, v.locale, v.fields, v.position
		from (` + from + `) as v join audit_entry e on e.workspace_id = v.workspace_id and e.id = v.id left join app a on a.id = e.app_id`
}

func scanEvent(r row) (e cms.Event, err error) {
	var kind cms.EventType
	var locale, fields *string
	e.AuditEntry, err = scanAuditEntry(withColumns(r, &kind, &locale, &fields, &e.Position))
	e.Type, e.Locale, e.Fields = kind, orEmpty(locale), splitFields(fields)
	return e, err
}

const eventColumns = `select workspace_id, position, id, type, locale, fields from event where `

func (q queries) Event(ctx context.Context, workspaceID, id cms.ID) (cms.Event, error) {
	e, err := one(ctx, q, cms.KindEvent, scanEvent, eventRead(eventColumns+`workspace_id = ? and id = ? and type <> ''`), workspaceID, id)
	if err == nil {
		err = q.addURLs(ctx, &e)
	}
	return e, err
}

// addURLs reads the URLs of a publish that went live.
func (q queries) addURLs(ctx context.Context, e *cms.Event) error {
	if e.Type != cms.EventPublished {
		return nil
	}
	urls, err := q.EventURLs(ctx, e.SiteID, e.ResourceID)
	e.URLs = &urls
	return err
}

// clockSkew bounds how much earlier an event was recorded than one with a lower position:
// by clocks that differ, and by transactions that take long.
const clockSkew = 10 * time.Minute

// Events reads events with the URLs of publishes.
func (q queries) Events(ctx context.Context, ask cms.EventQuery) ([]cms.Event, error) {
	events, err := q.findEvents(ctx, ask)
	for i := range events {
		if err == nil {
			err = q.addURLs(ctx, &events[i])
		}
	}
	return events, err
}

// findEvents reads one index in its order: that of the workspace, or those of the types that
// the query names, in the workspace or in a site, as far as the result needs them. Of
// several sites it reads each one's first events and keeps the first of all.
func (q queries) findEvents(ctx context.Context, ask cms.EventQuery) ([]cms.Event, error) {
	if ask.Since != nil {
		before, err := values[int64](ctx, q, `select position from event where workspace_id = ? and id < ? order by id desc limit 1`,
			ask.WorkspaceID, cms.AuditBefore(ask.Since.Add(-clockSkew)))
		if err != nil {
			return nil, err
		}
		ask.After = slices.Max(append(before, ask.After))
	}
	if ask.SiteID == cms.NoID && ask.Sites == nil {
		return q.eventsOf(ctx, ask)
	}
	sites := []cms.ID{ask.SiteID}
	if ask.SiteID == cms.NoID {
		sites = ask.Sites
	} else if ask.Sites != nil && !slices.Contains(ask.Sites, ask.SiteID) {
		return nil, nil
	}
	if ask.Types == nil {
		ask.Types = cms.SiteEventTypes
	}
	var first []cms.Event
	for _, id := range sites {
		ask.SiteID = id
		events, err := q.eventsOf(ctx, ask)
		if err != nil {
			return nil, err
		}
		first = append(first, events...)
		slices.SortFunc(first, func(a, b cms.Event) int { return int(a.Position - b.Position) })
		if len(first) > ask.Limit { // of many sites, no more than this is in memory
			clear(first[ask.Limit:])
			first = first[:ask.Limit]
		}
	}
	return first, nil
}

// eventsOf reads the events of a workspace or of one site.
func (q queries) eventsOf(ctx context.Context, ask cms.EventQuery) ([]cms.Event, error) {
	from := cms.NoID
	if ask.Since != nil {
		from = cms.AuditBefore(*ask.Since)
	}
	order := ` order by position` + atMost(ask.Limit)
	if ask.Types == nil {
		return all(ctx, q, scanEvent, eventRead(eventColumns+`workspace_id = ? and position > ? and id >= ? and type <> ''`+order)+` order by v.position`,
			ask.WorkspaceID, ask.After, from)
	}
	column, of := "workspace_id", ask.WorkspaceID
	if ask.SiteID != cms.NoID {
		column, of = "site_id", ask.SiteID
	}
	var parts []string
	var args []any
	for _, t := range ask.Types {
		parts = append(parts, eventColumns+column+` = ? and type = ? and position > ? and id >= ?`)
		args = append(args, of, t, ask.After, from)
	}
	query := q.dialect.merge(parts, order)
	if len(parts) == 1 {
		query = strings.Join(parts, "") + order
	}
	return all(ctx, q, scanEvent, eventRead(query)+` order by v.position`, args...)
}

// PurgeEvents keeps the last position of the workspace, so that none is given twice.
func (q queries) PurgeEvents(ctx context.Context, workspaceID cms.ID, before time.Time, limit int) (int, error) {
	last, err := q.LastPosition(ctx, workspaceID)
	if err != nil {
		return 0, err
	}
	n, err := q.exec(ctx, `delete from event where workspace_id = ? and id in (
			select id from event where workspace_id = ? and id < ? order by id limit ?) and position < ?`,
		workspaceID, workspaceID, cms.AuditBefore(before), limit, last)
	if err != nil {
		return 0, err
	}
	return int(n), q.run(ctx, `update event set site_id = ?, type = '' where workspace_id = ? and position = ? and id < ?`,
		cms.NoID, workspaceID, last, cms.AuditBefore(before))
}

// purgeEventsOf removes the events of a site, as PurgeEvents does.
func (q queries) purgeEventsOf(ctx context.Context, site cms.Site) error {
	last, err := q.LastPosition(ctx, site.WorkspaceID)
	if err != nil {
		return err
	}
	if err := q.run(ctx, `delete from event where site_id = ? and position < ?`, site.ID, last); err != nil {
		return err
	}
	return q.run(ctx, `update event set site_id = ?, type = '' where site_id = ?`, cms.NoID, site.ID)
}
