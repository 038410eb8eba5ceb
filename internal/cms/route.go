package cms

import (
	"strings"
	"time"
)

// Route is a pathname of a site that another system serves.
type Route struct {
	ID        ID
	SiteID    ID
	Pathname  string
	CreatedAt time.Time
	DeletedAt *time.Time
}

// NewRoute is what a route is created from.
type NewRoute struct {
	SiteID Opt[ID]
	RoutePatch
}

// Clean normalizes the values and notes what is wrong with them. With raw, the
// pathname may have the form of another system.
func (n *NewRoute) Clean(p *Problems, raw bool) {
	required(p, "siteId", n.SiteID)
	required(p, "pathname", n.Pathname)
	n.RoutePatch.Clean(p, raw)
}

// RoutePatch changes a route.
type RoutePatch struct {
	Pathname Opt[string]
}

// Clean normalizes the values and notes what is wrong with them.
func (c *RoutePatch) Clean(p *Problems, raw bool) {
	parse := ParsePathname
	if raw {
		parse = parseRoutePathname
	}
	clean(p, "pathname", &c.Pathname, parse)
}

// parseRoutePathname reads a pathname in any form. One that a page could have is
// normalized, so that none exists twice.
func parseRoutePathname(s string) (string, error) {
	if ours, err := ParsePathname(s); err == nil && strings.HasPrefix(s, "/") {
		return ours, nil
	}
	return RawPathname(s)
}
