package httpapi

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
