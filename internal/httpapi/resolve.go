package httpapi

import (
	"galley/internal/cms"
	"galley/internal/service"
)

// Resolution is what a visitor of a URL gets, and why.
type Resolution struct {
	Object     string                 `json:"object" enum:"resolution" doc:"Always resolution."`
	Kind       service.ResolutionKind `json:"kind" doc:"What a visitor gets." example:"page"`
	SiteID     cms.ID                 `json:"siteId" doc:"The site of the URL."`
	Locale     *string                `json:"locale" doc:"Code of the locale that is served at the URL, or null." example:"fr"`
	Pathname   *string                `json:"pathname" doc:"The pathname without the prefix of the locale, or null." example:"/about"`
	Page       *Page                  `json:"page" doc:"The page, as it stands in the locale."`
	Content    *contentText           `json:"content,omitempty" doc:"With include=content: the content of the page, or null."`
	Route      *Route                 `json:"route" doc:"The route that has the pathname."`
	Redirect   *RedirectTarget        `json:"redirect" doc:"Where a redirect leads."`
	URL        *string                `json:"url" doc:"The URL of the page, as it is written in canonical form." example:"https://www.example.com/about"`
	Alternates []Alternate            `json:"alternates" doc:"The URLs of the page in every locale where it is online, and x-default."`
	Steps      []ResolutionStep       `json:"steps" doc:"The rules that decided, in order."`
}

// RedirectTarget is where redirects lead.
type RedirectTarget struct {
	ID     cms.ID  `json:"id" doc:"The first redirect that acts."`
	Status int     `json:"status" doc:"Status of the first redirect." example:"308"`
	Target string  `json:"target" doc:"Target of the last redirect of a chain, with star and query filled in." example:"/about"`
	URL    *string `json:"url" doc:"The same as a URL, or null if the site has no origin." example:"https://www.example.com/about"`
}

// Alternate is the URL of a page in one locale.
type Alternate struct {
	Locale string `json:"locale" doc:"Locale code, or x-default." example:"fr"`
	URL    string `json:"url" doc:"The URL of the page there." example:"https://www.example.com/fr/a-propos"`
}

// ResolutionStep is a rule that had a part in a resolution.
type ResolutionStep struct {
	Rule   string `json:"rule" doc:"The rule: locale, shadow, page, route, redirect or none." example:"page"`
	Detail string `json:"detail" doc:"What it decided, in words." example:"The locale fr is served at the root of this origin"`
}

func newResolution(res service.Resolution) Resolution {
	wire := Resolution{
		Object: "resolution", Kind: res.Kind, SiteID: res.SiteID, URL: res.URL,
		Alternates: make([]Alternate, len(res.Alternates)), Steps: make([]ResolutionStep, len(res.Steps)),
	}
	if res.Locale != "" {
		wire.Locale, wire.Pathname = &res.Locale, &res.Pathname
	}
	if res.Page != nil {
		wire.Page = new(newPage(*res.Page))
	}
	if res.Route != nil {
		wire.Route = new(newRoute(*res.Route))
	}
	if res.Redirect != nil {
		wire.Redirect = new(RedirectTarget(*res.Redirect))
	}
	for i, alternate := range res.Alternates {
		wire.Alternates[i] = Alternate(alternate)
	}
	for i, step := range res.Steps {
		wire.Steps[i] = ResolutionStep(step)
	}
	return wire
}

// liveUnlessGiven is the version of a request whose default is the live one, or that
// of the preview.
func (r *request) liveUnlessGiven() service.VersionRef {
	if r.query.versionGiven || r.who.Preview != nil {
		return r.query.version
	}
	return service.VersionRef{Version: cms.Live}
}

func (a *API) resolveURL(r *request) (response, error) {
	res, err := a.svc.Resolve(r.Context(), r.who, service.ReadURL{URL: r.query.url, SiteID: r.query.siteID, Version: r.liveUnlessGiven(), Content: r.query.content})
	wire := newResolution(res)
	if r.query.content {
		wire.Content = new(contentText("null"))
		if res.Page != nil {
			wire.Content = newPageWithContent(*res.Page).Content
		}
	}
	answer := ok(wire)
	answer.about = res.About
	return answer, err
}
