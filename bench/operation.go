package main

// action is what a request does.
type action int

const (
	getByID action = iota
	getByPathname
	list
	create
	update
	batch
)

// operation is one row of the comparison.
type operation struct {
	name      string
	action    action
	live      bool // reads the live version, not the draft
	localized bool // reads in French
	quick     bool // is part of the quick run
}

const (
	connections = 32
	batchSize   = 1000
	listSize    = 20
)

// operations are run in this order: what writes comes last.
var operations = []operation{
	{name: "get by id, draft", action: getByID, quick: true},
	{name: "get by id, live", action: getByID, live: true},
	{name: "get by id, localized", action: getByID, live: true, localized: true, quick: true},
	{name: "get by pathname, draft", action: getByPathname},
	{name: "get by pathname, live", action: getByPathname, live: true, quick: true},
	{name: "get by pathname, localized", action: getByPathname, live: true, localized: true},
	{name: "list of 20", action: list, quick: true},
	{name: "list of 20, localized", action: list, live: true, localized: true},
	{name: "create", action: create, quick: true},
	{name: "update", action: update, quick: true},
	{name: "batch of 1,000", action: batch, quick: true},
}

// kind is what the operation is, whatever it reads.
func (o operation) kind() string {
	switch o.action {
	case getByID, getByPathname:
		return "get"
	case list:
		return "list of 20"
	default:
		return o.name
	}
}

func (o operation) isGet() bool  { return o.action == getByID || o.action == getByPathname }
func (o operation) isRead() bool { return o.isGet() || o.action == list }

// connections that load a server with it. A batch comes from one client, as an
// import does.
func (o operation) connections() int {
	if o.action == batch {
		return 1
	}
	return connections
}

// items is how many pages one request is about, as far as rates go.
func (o operation) items() int {
	if o.action == batch {
		return batchSize
	}
	return 1
}
