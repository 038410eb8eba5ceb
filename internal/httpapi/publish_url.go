package httpapi

import (
	"galley/internal/cms"
	"galley/internal/service"
)

// PublishURL is a URL at which visitors get something else since a publish.
type PublishURL struct {
	Object string        `json:"object" enum:"publishUrl" doc:"Always publishUrl."`
	ID     cms.ID        `json:"id" doc:"Identifier of the URL in the list of this publish."`
	URL    string        `json:"url" doc:"The URL. One that ends in /* stands for everything below it." example:"https://www.example.com/about"`
	Change cms.URLChange `json:"change" doc:"removed: it leads to nothing any more; changed: it leads to something else, or shows something else." example:"changed"`
}

func newPublishURL(u service.PublishURL) PublishURL {
	return PublishURL{Object: "publishUrl", ID: u.ID, URL: u.URL, Change: u.Change}
}

func (a *API) listPublishURLs(r *request) (response, error) {
	list, err := a.svc.PublishURLs(r.Context(), r.who, r.pathID, r.query.list)
	return ok(newList(list, newPublishURL)), err
}
