package httpapi

import (
	"galley/internal/cms"
)

// SiteSummary is how much the draft of a site has, and what is published and scheduled.
type SiteSummary struct {
	Object        string        `json:"object" enum:"siteSummary" doc:"Always siteSummary."`
	Pages         int           `json:"pages" doc:"Pages of the draft, offline ones too." example:"120"`
	Online        int           `json:"online" doc:"Pages that are online in the default locale." example:"117"`
	Offline       int           `json:"offline" doc:"Pages that are offline in the default locale." example:"3"`
	Changed       int           `json:"changed" doc:"Pages that a publish would create, change or delete. Beyond 1,000 pages that were edited since they last went live, it is their number." example:"5"`
	Redirects     int           `json:"redirects" doc:"Redirects of the draft." example:"12"`
	Routes        int           `json:"routes" doc:"Routes of the site." example:"2"`
	Locales       []LocaleCount `json:"locales" doc:"The locales of the site."`
	LastPublish   *Publish      `json:"lastPublish" doc:"The publish that last changed the live version."`
	Scheduled     int           `json:"scheduled" doc:"Scheduled publishes." example:"1"`
	NextPublishAt *timestamp    `json:"nextPublishAt" doc:"When the first of the scheduled publishes is due."`
}

// LocaleCount is how much of a site is localized.
type LocaleCount struct {
	Locale    string `json:"locale" doc:"Locale code." example:"pt-BR"`
	Localized int    `json:"localized" doc:"Pages of the draft that override something in the locale; for the default locale, all of them." example:"40"`
}

func (a *API) getSiteSummary(r *request) (response, error) {
	s, err := a.svc.SiteSummary(r.Context(), r.who, r.pathID)
	summary := SiteSummary{
		Object: "siteSummary", Pages: s.Pages, Online: s.Online, Offline: s.Offline, Changed: s.Changed, Redirects: s.Redirects, Routes: s.Routes,
		Locales: make([]LocaleCount, len(s.Locales)), Scheduled: s.Scheduled, NextPublishAt: newNullTimestamp(s.NextPublishAt),
	}
	for i, l := range s.Locales {
		summary.Locales[i] = LocaleCount(l)
	}
	if s.LastPublish != nil {
		summary.LastPublish = new(newPublish(*s.LastPublish))
	}
	res := ok(summary)
	res.about = cms.SubjectsOf(r.pathID, cms.Draft)
	return res, err
}
