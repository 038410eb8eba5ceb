package console

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
)

const auditPath = "/console/audit"

// auditEntry is a write.
type auditEntry struct {
	ID, At                string
	AppID, AppName, Actor *string
	RequestID             *string
	Operation             string
	Resource              struct{ Object, ID string }
	SiteID                *string
	Before, After         json.RawMessage
}

// auditQuery is what the address of the screen Audit says.
type auditQuery struct {
	siteID, appID, resourceID, operation, since, until, after string
}

func (q auditQuery) address() string {
	return at(auditPath, "siteId", q.siteID, "appId", q.appID, "resourceId", q.resourceID, "operation", q.operation, "since", q.since, "until", q.until, "after", q.after)
}

func (q auditQuery) withAfter(id string) auditQuery { q.after = id; return q }

// auditList is what the screen Audit shows.
type auditList struct {
	auditQuery
	rows    []auditEntry
	next    string
	problem *problem
}

// showAudit is the handler of the audit trail.
func showAudit(v *visit) error {
	p := v.URL.Query()
	l := auditList{auditQuery: auditQuery{
		siteID: p.Get("siteId"), appID: p.Get("appId"), resourceID: p.Get("resourceId"), operation: p.Get("operation"), since: p.Get("since"), until: p.Get("until"), after: p.Get("after"),
	}}
	answer := v.get("/v2/audit", "siteId", l.siteID, "appId", l.appID, "resourceId", l.resourceID, "operation", l.operation, "since", wholeDay(l.since),
		"until", wholeDay(l.until), "limit", "50", "startingAfter", l.after)
	found, err := read[list[auditEntry]](answer)
	if l.problem = problemOf(err); l.problem != nil && l.problem.Status == http.StatusBadRequest {
		return v.show(http.StatusBadRequest, navAudit, auditScreen(v, l))
	} else if err != nil {
		return err
	}
	if p.Get("format") == "json" {
		v.w.Header().Set("Content-Type", "application/json")
		v.w.Header().Set("Content-Disposition", `attachment; filename="audit.json"`)
		_, _ = v.w.Write(answer.Body) // it fails if the client has disconnected
		return nil
	}
	if l.rows = found.Data; found.HasMore {
		l.next = l.withAfter(l.rows[len(l.rows)-1].ID).address()
	}
	return v.show(http.StatusOK, navAudit, auditScreen(v, l))
}

// wholeDay makes a time of a day, at its beginning.
func wholeDay(text string) string {
	if len(text) == len("2006-01-02") {
		return text + "T00:00:00Z"
	}
	return text
}

// address leads to what was written, or is empty.
func (e auditEntry) address() string {
	site := deref(e.SiteID)
	switch e.Resource.Object {
	case "page":
		return pagePath(site, e.Resource.ID, "")
	case "site":
		return sitePath(e.Resource.ID, "/pages")
	case "publish":
		return publishPath(e.Resource.ID, "")
	case "app":
		return keysPath + "/" + e.Resource.ID
	case "webhook":
		return webhooksPath + "/" + e.Resource.ID
	}
	return ""
}

// unshown are fields whose differences say nothing.
var unshown = []string{"object", "id", "siteId", "workspaceId", "createdAt", "updatedAt", "localizations", "status", "lastUsedAt"}

// changed are the fields that a write changed.
func (e auditEntry) changed() (fields []fieldChange) {
	var before, after map[string]any
	_, _ = json.Unmarshal(e.Before, &before), json.Unmarshal(e.After, &after) // null has no fields
	all := maps.Clone(after)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, before)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(unshown, name) && !reflect.DeepEqual(before[name], after[name]) {
			fields = append(fields, fieldChange{name, before[name], after[name]})
		}
	}
	return fields
}

// name is what the thing is called.
func (e auditEntry) name() string {
	var t thing
	if json.Unmarshal(e.After, &t) != nil || t == (thing{}) {
		_ = json.Unmarshal(e.Before, &t) // what it has not is empty
	}
	for _, name := range []string{t.Pathname, t.Source, t.Name, t.URL, t.Locale} {
		if name != "" {
			return name
		}
	}
	return e.Resource.ID
}
