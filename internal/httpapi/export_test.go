package httpapi

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func init() { grace, heartbeatEvery = 2*time.Second, time.Second } // tests wait for them

// EndpointRow is what tests need to know of a row of the route table.
type EndpointRow struct {
	Method, Pattern, Name string
}

// RouteTable is the route table, so that a test can hold what it covers
// against what there is.
func RouteTable() []EndpointRow {
	var rows []EndpointRow
	for _, e := range (&API{}).endpoints() {
		rows = append(rows, EndpointRow{e.method, e.path(), e.name})
	}
	return rows
}

// PatternOf is the pattern that an address has in the interface document, or "".
func PatternOf(method, escapedPath string) string {
	e, _, _ := newRouter((&API{}).endpoints()).route(method, escapedPath)
	if e == nil {
		return ""
	}
	return e.path()
}

// Household is who a request counts against while it has no key.
func Household(trusted []netip.Prefix, r *http.Request) string {
	return clientKey(proxies(trusted).client(r))
}

// Sender is the part of the edge that sends answers to slow readers.
func Sender(registry *prometheus.Registry) func(w http.ResponseWriter, part []byte) (int, error) {
	a := newAdmission(1, registry)
	return func(w http.ResponseWriter, part []byte) (int, error) { return a.send(w, part, false) }
}

// The bounds that tests reach.
const (
	MaxBytes    = maxBytes
	BytesEach   = bytesEach
	WaitersEach = waitersEach
	MaxWait     = maxWait
)
