package httpapi

import (
	"net/http"
	"slices"

	"galley/internal/cms"
	"galley/internal/service"
)

// The credentials that an endpoint is for. Previews may only read what is checked
// against their version and prefix.
const (
	appsOnly   = service.Apps
	siteKeyToo = service.SiteKeys
	previewToo = service.Previews
	anyKey     = service.Anyone
)

// siteKeysOnly is the scope of what App keys can't do.
const siteKeysOnly cms.Scope = ""

// endpoints is the route table.
func (a *API) endpoints() []*endpoint {
	const (
		get, post, patch, del, put  = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete, http.MethodPut
		read, write, publish, admin = cms.ScopeRead, cms.ScopeWrite, cms.ScopePublish, cms.ScopeAdmin
	)
	var (
		inSite   = []param{paramSiteID}
		inLocale = []param{paramSiteID, paramLocale}
		list     = []param{paramLimit, paramAfter}
		siteList = []param{paramListSiteID, paramLimit, paramAfter}
		pageRead = []param{paramSiteID, paramVersion, paramLocale}
		pageList = []param{paramLimit, paramAfter, paramPathPrefix, paramSortBy, paramSortDirection, paramIncludeOffline, paramLocale, paramVersion, paramStatus, paramDeletedPages, paramSearchPages}
		raw      = []param{paramSkipValidation}
		events   = []param{paramEventSiteID, paramTypes, paramEventSince}
	)
	return []*endpoint{
		{get, "/v2/me", "getCredential", read, anyKey, nil, nil, 200, typ[Credential](), a.getCredential},
		{get, "/v2/workspace", "getWorkspace", admin, appsOnly, nil, nil, 200, typ[Workspace](), a.getWorkspace},

		{get, "/v2/apps", "listApps", admin, appsOnly, list, nil, 200, typ[List[App]](), a.listApps},
		{post, "/v2/apps", "createApp", admin, appsOnly, nil, typ[AppCreate](), 201, typ[AppWithKey](), a.createApp},
		{get, "/v2/apps/{appId}", "getApp", admin, appsOnly, nil, nil, 200, typ[App](), a.getApp},
		{patch, "/v2/apps/{appId}", "updateApp", admin, appsOnly, nil, typ[AppPatch](), 200, typ[App](), a.updateApp},
		{del, "/v2/apps/{appId}", "deleteApp", admin, appsOnly, nil, nil, 204, nil, a.deleteApp},
		{post, "/v2/apps/{appId}/rotate", "rotateAppKey", admin, appsOnly, nil, typ[KeyRotate](), 200, typ[AppWithKey](), a.rotateAppKey},

		{get, "/v2/audit", "listAudit", admin, appsOnly, append([]param{paramAuditSiteID, paramResourceID, paramAppID, paramOperation, paramSince, paramUntil}, list...), nil, 200, typ[List[AuditEntry]](), a.listAudit},

		{get, "/v2/webhooks", "listWebhooks", admin, appsOnly, list, nil, 200, typ[List[Webhook]](), a.listWebhooks},
		{post, "/v2/webhooks", "createWebhook", admin, appsOnly, nil, typ[WebhookCreate](), 201, typ[WebhookWithSecret](), a.createWebhook},
		{get, "/v2/webhooks/{webhookId}", "getWebhook", admin, appsOnly, nil, nil, 200, typ[Webhook](), a.getWebhook},
		{patch, "/v2/webhooks/{webhookId}", "updateWebhook", admin, appsOnly, nil, typ[WebhookPatch](), 200, typ[Webhook](), a.updateWebhook},
		{del, "/v2/webhooks/{webhookId}", "deleteWebhook", admin, appsOnly, nil, nil, 204, nil, a.deleteWebhook},
		{post, "/v2/webhooks/{webhookId}/rotate-secret", "rotateWebhookSecret", admin, appsOnly, nil, typ[SecretRotate](), 200, typ[WebhookWithSecret](), a.rotateWebhookSecret},
		{post, "/v2/webhooks/{webhookId}/test", "testWebhook", admin, appsOnly, nil, nil, 202, typ[Delivery](), a.testWebhook},
		{post, "/v2/webhooks/{webhookId}/replay", "replayWebhook", admin, appsOnly, nil, typ[ReplayCreate](), 202, typ[Replay](), a.replayWebhook},
		{get, "/v2/webhooks/{webhookId}/deliveries", "listDeliveries", admin, appsOnly, append([]param{paramDeliveryStatus}, list...), nil, 200, typ[List[Delivery]](), a.listDeliveries},
		{get, "/v2/deliveries/{deliveryId}", "getDelivery", admin, appsOnly, nil, nil, 200, typ[Delivery](), a.getDelivery},
		{post, "/v2/deliveries/{deliveryId}/redeliver", "redeliver", admin, appsOnly, nil, nil, 202, typ[Delivery](), a.redeliver},
		{get, "/v2/events", "listEvents", read, appsOnly, append(slices.Clone(events), list...), nil, 200, typ[List[Event]](), a.listEvents},
		{get, "/v2/events/stream", "streamEvents", read, appsOnly, append(slices.Clone(events), paramAfter), nil, 200, typ[EventStream](), a.startEvents},

		{get, "/v2/sites", "listSites", read, appsOnly, append([]param{paramWorkspaceID, paramSearch, paramLabel, paramDeleted}, list...), nil, 200, typ[List[Site]](), a.listSites},
		{post, "/v2/sites", "createSite", write, appsOnly, nil, typ[SiteCreate](), 201, typ[Site](), a.createSite},
		{get, "/v2/sites/{siteId}", "getSite", read, previewToo, nil, nil, 200, typ[Site](), a.getSite},
		{patch, "/v2/sites/{siteId}", "updateSite", write, appsOnly, nil, typ[SitePatch](), 200, typ[Site](), a.updateSite},
		{del, "/v2/sites/{siteId}", "deleteSite", write, appsOnly, nil, nil, 204, nil, a.deleteSite},
		{post, "/v2/sites/{siteId}/restore", "restoreSite", write, appsOnly, nil, nil, 200, typ[Site](), a.restoreSite},
		{post, "/v2/sites/{siteId}/duplicate", "duplicateSite", write, appsOnly, nil, typ[SiteDuplicate](), 201, typ[Site](), a.duplicateSite},
		{post, "/v2/sites/{siteId}/rotate-key", "rotateSiteKey", write, appsOnly, nil, typ[KeyRotate](), 200, typ[Site](), a.rotateSiteKey},
		{get, "/v2/sites/{siteId}/summary", "getSiteSummary", read, appsOnly, nil, nil, 200, typ[SiteSummary](), a.getSiteSummary},
		{get, "/v2/sites/{siteId}/pages", "listSitePages", read, previewToo, pageList, nil, 200, typ[List[Page]](), a.listPages},

		{get, "/v2/sites/{siteId}/sitemap.xml", "getSitemap", read, previewToo, []param{paramOrigin, paramVersion, paramPart}, nil, 200, typ[XMLDocument](), a.getSitemap},
		{get, "/v2/sites/{siteId}/robots.txt", "getRobots", read, siteKeyToo, []param{paramOrigin}, nil, 200, typ[TextDocument](), a.getRobots},
		{get, "/v2/resolve", "resolveUrl", read, previewToo, []param{paramURL, paramResolveSiteID, paramVersion, paramInclude}, nil, 200, typ[Resolution](), a.resolveURL},

		{get, "/v2/sites/{siteId}/changes", "listChanges", read, appsOnly, append([]param{paramPageIDs, paramRedirectIDs, paramLocales}, list...), nil, 200, typ[Review](), a.listChanges},
		{post, "/v2/sites/{siteId}/publish", "publishSite", publish, appsOnly, nil, typ[PublishCreate](), 201, typ[Publish](), a.publishSite},
		{post, "/v2/sites/{siteId}/discard", "discardSite", write, appsOnly, nil, typ[DiscardCreate](), 200, typ[Discard](), a.discardSite},
		{get, "/v2/sites/{siteId}/publishes", "listPublishes", read, appsOnly, list, nil, 200, typ[List[Publish]](), a.listPublishes},
		{get, "/v2/publishes", "listScheduledPublishes", read, appsOnly, append([]param{paramScheduled}, list...), nil, 200, typ[List[Publish]](), a.listScheduled},
		{get, "/v2/publishes/{publishId}", "getPublish", read, appsOnly, nil, nil, 200, typ[Publish](), a.getPublish},
		{del, "/v2/publishes/{publishId}", "cancelPublish", publish, appsOnly, nil, nil, 204, nil, a.cancelPublish},
		{get, "/v2/publishes/{publishId}/changes", "listPublishChanges", read, appsOnly, list, nil, 200, typ[List[Change]](), a.listPublishChanges},
		{get, "/v2/publishes/{publishId}/urls", "listPublishUrls", read, appsOnly, list, nil, 200, typ[List[PublishURL]](), a.listPublishURLs},
		{post, "/v2/publishes/{publishId}/restore", "restorePublish", publish, appsOnly, nil, nil, 201, typ[Publish](), a.restorePublish},

		{get, "/v2/previews", "listPreviews", read, appsOnly, siteList, nil, 200, typ[List[Preview]](), a.listPreviews},
		{post, "/v2/previews", "createPreview", write, appsOnly, nil, typ[PreviewCreate](), 201, typ[PreviewWithToken](), a.createPreview},
		{get, "/v2/previews/{previewId}", "getPreview", read, appsOnly, nil, nil, 200, typ[Preview](), a.getPreview},
		{del, "/v2/previews/{previewId}", "deletePreview", write, appsOnly, nil, nil, 204, nil, a.deletePreview},

		{get, "/v2/locales", "listLocales", read, previewToo, append([]param{paramDeleted}, siteList...), nil, 200, typ[List[Locale]](), a.listLocales},
		{post, "/v2/locales", "createLocale", write, appsOnly, nil, typ[LocaleCreate](), 201, typ[Locale](), a.createLocale},
		{get, "/v2/locales/{localeIdOrCode}", "getLocale", read, previewToo, inSite, nil, 200, typ[Locale](), a.getLocale},
		{patch, "/v2/locales/{localeIdOrCode}", "updateLocale", write, appsOnly, inSite, typ[LocalePatch](), 200, typ[Locale](), a.updateLocale},
		{del, "/v2/locales/{localeIdOrCode}", "deleteLocale", write, appsOnly, inSite, nil, 204, nil, a.deleteLocale},
		{post, "/v2/locales/{localeIdOrCode}/restore", "restoreLocale", write, appsOnly, inSite, nil, 200, typ[Locale](), a.restoreLocale},

		{get, "/v2/routes", "listRoutes", read, previewToo, siteList, nil, 200, typ[List[Route]](), a.listRoutes},
		{post, "/v2/routes", "createRoute", write, appsOnly, raw, typ[RouteCreate](), 201, typ[Route](), a.createRoute},
		{get, "/v2/routes/{routeIdOrPathname...}", "getRoute", read, previewToo, inSite, nil, 200, typ[Route](), a.getRoute},
		{patch, "/v2/routes/{routeIdOrPathname...}", "updateRoute", write, appsOnly, append(raw, paramSiteID), typ[RoutePatch](), 200, typ[Route](), a.updateRoute},
		{del, "/v2/routes/{routeIdOrPathname...}", "deleteRoute", write, appsOnly, inSite, nil, 204, nil, a.deleteRoute},

		{get, "/v2/redirects", "listRedirects", read, previewToo, append([]param{paramListSiteID, paramRedirectLocale, paramSourcePrefix, paramVersion, paramDeleted}, list...), nil, 200, typ[List[Redirect]](), a.listRedirects},
		{post, "/v2/redirects", "createRedirect", write, appsOnly, nil, typ[RedirectCreate](), 201, typ[Redirect](), a.createRedirect},
		{post, "/v2/redirects/batch", "batchRedirects", write, appsOnly, nil, typ[RedirectBatch](), 200, typ[BatchOfRedirects](), a.batchRedirects},
		{get, "/v2/redirects/{redirectId}", "getRedirect", read, previewToo, []param{paramVersion}, nil, 200, typ[Redirect](), a.getRedirect},
		{patch, "/v2/redirects/{redirectId}", "updateRedirect", write, appsOnly, nil, typ[RedirectPatch](), 200, typ[Redirect](), a.updateRedirect},
		{del, "/v2/redirects/{redirectId}", "deleteRedirect", write, appsOnly, nil, nil, 204, nil, a.deleteRedirect},
		{post, "/v2/redirects/{redirectId}/restore", "restoreRedirect", write, appsOnly, nil, nil, 200, typ[Redirect](), a.restoreRedirect},
		{post, "/v2/redirects/{redirectId}/discard", "discardRedirect", write, appsOnly, nil, nil, 200, typ[Redirect](), a.discardRedirect},

		{get, "/v5/pages", "listRuntimePages", siteKeysOnly, siteKeyToo, []param{paramLimit, paramRuntimeAfter, paramSortBy, paramSortDirection, paramIncludeOffline, paramPathPrefix, paramLocale}, nil, 200, typ[RuntimePages](), a.listRuntimePages},
		{get, "/v3/pages/{pathname...}", "getRuntimePage", siteKeysOnly, siteKeyToo, []param{paramLocale}, nil, 200, typ[RuntimePage](), a.getRuntimePage},

		{get, "/v6/pages", "listPages", read, previewToo, append([]param{paramListSiteID}, pageList...), nil, 200, typ[List[Page]](), a.listPages},
		{post, "/v6/pages", "createPage", write, appsOnly, nil, typ[PageCreate](), 201, typ[Page](), a.createPage},
		{post, "/v6/pages/batch", "batchPages", write, appsOnly, nil, typ[PageBatch](), 200, typ[Batch](), a.batchPages},
		{get, "/v6/pages/tree", "getTree", read, previewToo, []param{paramListSiteID, paramUnder, paramLocale, paramVersion, paramLimit, paramSegment}, nil, 200, typ[List[PathSegment]](), a.getTree},
		{get, "/v6/pages/{pageIdOrPathname...}", "getPage", read, previewToo, append(pageRead, paramInclude), nil, 200, typ[Page](), a.getPage},
		{patch, "/v6/pages/{pageIdOrPathname...}", "updatePage", write, appsOnly, inLocale, typ[PagePatch](), 200, typ[Page](), a.updatePage},
		{del, "/v6/pages/{pageIdOrPathname...}", "deletePage", write, appsOnly, inLocale, nil, 204, nil, a.deletePage},
		{post, "/v6/pages/{pageId:id}/restore", "restorePage", write, appsOnly, nil, nil, 200, typ[Page](), a.restorePage},
		{post, "/v6/pages/{pageId:id}/publish", "publishPage", publish, appsOnly, nil, nil, 201, typ[Publish](), a.publishPage},
		{post, "/v6/pages/{pageId:id}/discard", "discardPage", write, appsOnly, nil, nil, 200, typ[Page](), a.discardPage},
		{get, "/v6/pages/{pageId:id}/publishes", "listPagePublishes", read, appsOnly, list, nil, 200, typ[List[Publish]](), a.listPagePublishes},
		{get, "/v6/pages/{pageId:id}/content", "getContent", read, previewToo, []param{paramLocale, paramVersion}, nil, 200, typ[Content](), a.getContent},
		{put, "/v6/pages/{pageId:id}/content", "putContent", write, appsOnly, []param{paramLocale}, typ[contentText](), 200, typ[Content](), a.putContent},
		{del, "/v6/pages/{pageId:id}/content", "deleteContent", write, appsOnly, []param{paramLocale}, nil, 204, nil, a.deleteContent},
		{get, "/v6/pages/{pageId:id}/content/diff", "diffContent", read, appsOnly, []param{paramFrom, paramTo, paramLocale}, nil, 200, typ[ContentDiff](), a.diffContent},
		{del, "/v6/pages/{pageId:id}/localizations/{localeIdOrCode}", "delocalizePage", write, appsOnly, nil, nil, 204, nil, a.delocalizePage},
	}
}
