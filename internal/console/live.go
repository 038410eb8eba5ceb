package console

import (
	"net/http"
	"time"
)

const livePath = "/console/live"

// streamLive sends the events of a site, or of all, while a screen is open.
func streamLive(v *visit) error {
	q := v.URL.Query()
	v.c.api.Stream(v.w, v.Request, v.token, Request{Method: http.MethodGet, Address: at("/v2/events/stream", "siteId", q.Get("site"), "types", q.Get("types"), "since", q.Get("since"))})
	return nil
}

// clock is the time now, as REST writes it.
func clock() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }
