package sqlstore

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"

	"galley/internal/cms"
)

const auditColumns = `workspace_id, id, site_id, resource_id, app_id, request_id, kind, operation, actor, states`

// auditRead reads entries with the names that their apps have now.
const auditRead = `select e.workspace_id, e.id, e.site_id, e.resource_id, e.app_id, e.request_id, e.kind, e.operation, e.actor, e.states, a.name
	from audit_entry e left join app a on a.id = e.app_id `

func scanAuditEntry(r row) (e cms.AuditEntry, err error) {
	var states []byte
	var actor, app *string
	err = r.Scan(&e.WorkspaceID, &e.ID, &e.SiteID, &e.ResourceID, &e.AppID, &e.RequestID, &e.Kind, &e.Operation, &actor, &states, &app)
	if err == nil {
		err = setStates(&e, states)
	}
	e.Actor, e.AppName = orEmpty(actor), orEmpty(app)
	return e, err
}

// oldAuditRead reads the rows of the table that audit_entry replaces.
const oldAuditRead = `select e.workspace_id, e.id, e.site_id, e.resource_id, e.app_id, e.request_id, e.kind, e.operation, e.state_before, e.state_after, a.name
	from audit e left join app a on a.id = e.app_id `

func scanOldAuditEntry(r row) (e cms.AuditEntry, err error) {
	var requestID string
	var app *string
	err = r.Scan(&e.WorkspaceID, &e.ID, &e.SiteID, &e.ResourceID, &e.AppID, &requestID, &e.Kind, &e.Operation, &e.Before, &e.After, &app)
	e.RequestID, _ = cms.ParseID(requestID) // "" where there was no request
	e.AppName = orEmpty(app)
	return e, err
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func nullText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (q queries) AuditEntry(ctx context.Context, workspaceID, id cms.ID) (cms.AuditEntry, error) {
	const where = `where e.workspace_id = ? and e.id = ?`
	e, err := one(ctx, q, cms.KindAudit, scanAuditEntry, auditRead+where, workspaceID, id)
	if cms.CodeOf(err) == cms.CodeNotFound {
		e, err = one(ctx, q, cms.KindAudit, scanOldAuditEntry, oldAuditRead+where, workspaceID, id)
	}
	return e, err
}

// Audit reads one index backwards: that of the resource, the site, the app or
// the operation, the first that the query names, or else that of the
// workspace. Of several sites it reads each one's newest entries and keeps the
// newest of all.
func (q queries) Audit(ctx context.Context, ask cms.AuditQuery) ([]cms.AuditEntry, error) {
	asks := []cms.AuditQuery{ask}
	if ask.Sites != nil && ask.SiteID == cms.NoID && ask.ResourceID == cms.NoID {
		asks = nil
		for _, id := range ask.Sites {
			ofSite := ask
			ofSite.SiteID = id
			asks = append(asks, ofSite)
		}
	}
	var newest []cms.AuditEntry
	for _, part := range asks {
		where, args := auditFilter(part, false)
		entries, err := all(ctx, q, scanAuditEntry, auditRead+where, args...)
		if err != nil {
			return nil, err
		}
		where, args = auditFilter(part, true)
		old, err := all(ctx, q, scanOldAuditEntry, oldAuditRead+where, args...)
		if err != nil {
			return nil, err
		}
		newest = slices.Concat(newest, entries, old)
		slices.SortFunc(newest, func(a, b cms.AuditEntry) int { return cms.CompareIDs(b.ID, a.ID) })
		if len(newest) > ask.Limit+1 { // of many sites, no more than this is in memory
			clear(newest[ask.Limit+1:])
			newest = newest[:ask.Limit+1]
		}
	}
	return newest, nil
}

// auditFilter returns the rest of a statement that reads entries. In audit_entry only
// the first filter can use an index, so that no planner chooses another; in the old
// table every index begins with the workspace.
func auditFilter(ask cms.AuditQuery, old bool) (string, []any) {
	from, to := ask.Range()
	if ask.After != cms.NoID && cms.CompareIDs(ask.After, to) < 0 {
		to = ask.After
	}
	where, args := []string{"e.id >= ? and e.id < ?"}, []any{from, to}
	add := func(given, indexed bool, condition string, values ...any) {
		if !given {
			return
		}
		if !indexed && !old {
			condition = "(" + condition + ") is true"
		}
		where, args = append(where, condition), append(args, values...)
	}
	byResource, bySite, byApp := ask.ResourceID != cms.NoID, ask.SiteID != cms.NoID, ask.AppID != cms.NoID
	inWorkspace := !byResource && !bySite && !byApp
	add(byResource, true, "e.resource_id = ?", ask.ResourceID)
	add(bySite, !byResource, "e.site_id = ?", ask.SiteID)
	add(byApp, !byResource && !bySite, "e.app_id = ?", ask.AppID)
	add(true, inWorkspace, "e.workspace_id = ?", ask.WorkspaceID)
	single := ask.Operation != "" && ask.Operation != "batchPages" // the index of operations has these
	add(ask.Operation != "", inWorkspace && single, "e.operation = ?", ask.Operation)
	add(inWorkspace && single, true, "e.operation <> 'batchPages'")
	add(byResource && !bySite && ask.Sites != nil, false, "e.site_id in ("+marks(len(ask.Sites))+")", anys(ask.Sites)...)
	return `where ` + strings.Join(where, " and ") + ` order by e.id desc` + atMost(ask.Limit+1), args
}

func (q queries) Record(ctx context.Context, entries ...cms.AuditEntry) error {
	args := make([]any, 0, 10*len(entries))
	for _, e := range entries {
		args = append(args, e.WorkspaceID, e.ID, e.SiteID, e.ResourceID, e.AppID, e.RequestID, e.Kind, e.Operation,
			nullText(e.Actor), statesOf(e))
	}
	if _, err := q.insert(ctx, false, `audit_entry (`+auditColumns+`)`, 10, args, ""); err != nil {
		return err
	}
	return q.recordEvents(ctx, entries)
}

func (q queries) PurgeAudit(ctx context.Context, workspaceID cms.ID, before time.Time, limit int) (int, error) {
	n, err := q.exec(ctx, `delete from audit_entry where workspace_id = ? and id in (
			select id from audit_entry where workspace_id = ? and id < ? order by id limit ?)`,
		workspaceID, workspaceID, cms.AuditBefore(before), limit)
	return int(n), err
}

// MoveAudit moves rows of the table that audit_entry replaces. Nodes of the
// previous version may still add some.
func (q queries) MoveAudit(ctx context.Context, workspaceID cms.ID, limit int) (int, error) {
	old, err := all(ctx, q, scanOldAuditEntry, oldAuditRead+`where e.workspace_id = ? order by e.id`+atMost(limit), workspaceID)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	if err := q.Record(ctx, old...); err != nil {
		return 0, err
	}
	n, err := q.exec(ctx, `delete from audit where workspace_id = ? and id <= ?`, workspaceID, old[len(old)-1].ID)
	return int(n), err
}

// An audit entry stores its resource before and after the write as one
// compressed block: the second state mostly repeats the first, and both repeat
// the dictionary. S2 takes a fifth of the time of zstd and makes blocks that
// are a sixth larger. Stored blocks need the dictionary that they were made
// with, so it never changes.

//go:embed audit_states.dict
var stateDictionary []byte

var stateCoder = s2.MakeDict(stateDictionary, nil)

// knownTexts are what the states of an entry repeat of its other columns: a
// control character stands for each, which JSON never contains.
func knownTexts(e cms.AuditEntry) [][]byte {
	return [][]byte{idText(e.ResourceID), idText(e.SiteID), idText(e.AppID), e.At().AppendFormat(nil, "2006-01-02T15:04:")}
}

func idText(id cms.ID) []byte {
	text, _ := id.MarshalText() // it never fails
	return text
}

// statesOf packs the states of an entry.
func statesOf(e cms.AuditEntry) []byte {
	if e.Before == nil && e.After == nil {
		return []byte{}
	}
	text := slices.Concat(e.Before, []byte{0}, e.After)
	for i, known := range knownTexts(e) {
		text = abbreviate(text, known, byte(1+i))
	}
	return stateCoder.Encode(nil, text)
}

// abbreviate replaces each occurrence of a known text by one byte, in place.
func abbreviate(text, known []byte, by byte) []byte {
	short := text[:0]
	for {
		before, after, found := bytes.Cut(text, known)
		short = append(short, before...)
		if !found {
			return short
		}
		short, text = append(short, by), after
	}
}

// setStates unpacks what statesOf has packed.
func setStates(e *cms.AuditEntry, states []byte) error {
	if len(states) == 0 {
		return nil
	}
	text, err := stateCoder.Decode(nil, states)
	if err != nil {
		return fmt.Errorf("audit entry %s: %w", e.ID, err)
	}
	for i, known := range knownTexts(*e) {
		text = bytes.ReplaceAll(text, []byte{byte(1 + i)}, known)
	}
	before, after, _ := bytes.Cut(text, []byte{0})
	if len(before) > 0 {
		e.Before = before
	}
	if len(after) > 0 {
		e.After = after
	}
	return nil
}
