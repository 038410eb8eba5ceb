package httpapi

import (
	"encoding/json"
	"fmt"

	"galley/internal/cms"
	"galley/internal/service"
)

// AuditEntry is the record of one write.
type AuditEntry struct {
	Object    string          `json:"object" enum:"auditEntry" doc:"Always auditEntry."`
	ID        cms.ID          `json:"id" doc:"Identifier of the entry."`
	At        timestamp       `json:"at" doc:"When the write happened."`
	AppID     *cms.ID         `json:"appId" doc:"The app that wrote; a scheduled publish names the app that asked for it. Null for the operator at the command line and for what else the service does itself."`
	RequestID *string         `json:"requestId" doc:"The request, as X-Request-Id named it; null where there was none."`
	Operation string          `json:"operation" doc:"What was asked for: the operation's id in this document, or what the service did by itself." example:"updatePage"`
	Resource  AuditedResource `json:"resource" doc:"What was written."`
	SiteID    *cms.ID         `json:"siteId" doc:"The site that the resource belongs to."`
	Before    json.RawMessage `json:"before" nullable:"true" doc:"The resource before, without secrets; null if there was none."`
	After     json.RawMessage `json:"after" nullable:"true" doc:"The resource afterwards, without secrets; null if there is none."`
}

// AuditedResource names what was written.
type AuditedResource struct {
	Object string `json:"object" doc:"The kind of resource." example:"page"`
	ID     cms.ID `json:"id" doc:"Identifier of the resource."`
}

func newAuditEntry(e cms.AuditEntry) AuditEntry {
	w := AuditEntry{
		Object: "auditEntry", ID: e.ID, At: newTimestamp(e.At()), Operation: e.Operation,
		Resource: AuditedResource{string(e.Kind), e.ResourceID},
		AppID:    nullID(e.AppID), SiteID: nullID(e.SiteID), Before: e.Before, After: e.After,
	}
	if e.RequestID != "" {
		w.RequestID = &e.RequestID
	}
	return w
}

func nullID(id cms.ID) *cms.ID {
	if id == cms.NoID {
		return nil
	}
	return &id
}

// Depict is a resource as the audit trail keeps it: what its own answer shows,
// less the Site key, which is a credential.
func Depict(resource any) []byte {
	switch v := resource.(type) {
	case service.PageView:
		return encode(newPage(v))
	case service.LocaleView:
		return encode(newLocale(v))
	case cms.Site:
		return encode(struct {
			Site
			PublicAPIKey any `json:"publicApiKey,omitempty"` // hides the key
		}{Site: newSite(v)})
	case cms.Route:
		return encode(newRoute(v))
	case cms.Publish:
		return encode(newPublish(v))
	case cms.App:
		return encode(newApp(v))
	case cms.Workspace:
		return encode(newWorkspace(v))
	}
	panic(fmt.Sprintf("nobody said how the audit trail shows a %T", resource))
}

func (a *API) listAudit(r *request) (answer, error) {
	q := r.query
	list, err := a.svc.Audit(r.Context(), r.who, cms.AuditQuery{
		ListQuery: q.list, SiteID: q.siteID, ResourceID: q.resourceID, AppID: q.appID, Since: q.since, Until: q.until,
	})
	return ok(newList(list, newAuditEntry)), err
}
