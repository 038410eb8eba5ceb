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
	AppName   *string         `json:"appName" doc:"The name that the app has now." example:"Importer"`
	Actor     *string         `json:"actor" doc:"The person for whom the app wrote, as X-Actor named them; null if it named none." example:"ada@example.com"`
	RequestID *cms.ID         `json:"requestId" doc:"The request, as X-Request-Id named it; null where there was none."`
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
	return AuditEntry{
		Object: "auditEntry", ID: e.ID, At: newTimestamp(e.At()), Operation: e.Operation,
		Resource: AuditedResource{string(e.Kind), e.ResourceID}, AppID: nullID(e.AppID), AppName: nullText(e.AppName),
		Actor: nullText(e.Actor), RequestID: nullID(e.RequestID), SiteID: nullID(e.SiteID), Before: e.Before, After: e.After,
	}
}

func nullText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func nullID(id cms.ID) *cms.ID {
	if id == cms.NoID {
		return nil
	}
	return &id
}

// AuditState encodes a resource for the audit trail: like its own response, but
// without the Site key, which is a credential.
func AuditState(resource any) []byte {
	switch v := resource.(type) {
	case service.PageView:
		return encode(struct {
			Page
			Content *cms.Digest `json:"content,omitempty"` // in place of the value
		}{newPage(v), v.Values.Content})
	case service.RedirectView:
		return encode(newRedirect(v))
	case service.LocaleView:
		return encode(newLocale(v))
	case cms.Site:
		v.PublicAPIKey = cms.NoID
		return encode(newSite(v))
	case cms.Route:
		return encode(newRoute(v))
	case cms.Publish:
		return encode(newPublish(v))
	case service.PreviewView:
		return encode(newPreview(v))
	case cms.App:
		return encode(newApp(v))
	case cms.Webhook:
		return encode(newWebhook(v))
	case cms.Workspace:
		return encode(struct {
			Workspace
			MaxSites        *int `json:"maxSites,omitempty"`
			MaxPages        *int `json:"maxPages,omitempty"`
			MaxContentBytes *int `json:"maxContentBytes,omitempty"`
		}{newWorkspace(v), v.Quota.Sites, v.Quota.Pages, v.Quota.ContentBytes})
	}
	panic(fmt.Sprintf("the audit trail has no encoding of %T", resource))
}

func (a *API) listAudit(r *request) (response, error) {
	q := r.query
	list, err := a.svc.Audit(r.Context(), r.who, cms.AuditQuery{
		ListQuery: q.list, SiteID: q.siteID, ResourceID: q.resourceID, AppID: q.appID, Operation: q.operation, Since: q.since, Until: q.until,
	})
	return ok(newList(list, newAuditEntry)), err
}
