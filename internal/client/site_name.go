package client

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"galley/internal/config"
	galley "galley/sdk/go"
)

var (
	idForm    = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	labelForm = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
)

// SiteID returns the id of a site that is named by its id, name, origin or label. No name
// is the only site that the key reaches.
func (s *Session) SiteID(name string) (string, error) {
	if idForm.MatchString(name) {
		return name, nil
	}
	site, err := s.Site(name)
	return site.ID, err
}

// Site is SiteID for commands that need more of the site.
func (s *Session) Site(name string) (galley.Site, error) {
	switch {
	case name == "":
		return s.onlySite()
	case idForm.MatchString(name):
		return s.Client.Sites.Get(s.ctx(), name)
	case strings.Contains(name, "://"):
		return s.siteOfOrigin(name)
	}
	sites, err := s.sitesCalled(name, false)
	switch {
	case err != nil:
		return galley.Site{}, err
	case len(sites) == 1:
		return sites[0], nil
	case len(sites) > 1:
		return galley.Site{}, ambiguous(name, sites)
	}
	return galley.Site{}, s.unknownSite(name)
}

// sitesCalled returns the sites that have a name or label, in any letter case.
func (s *Session) sitesCalled(name string, deleted bool) ([]galley.Site, error) {
	var found []galley.Site
	queries := []galley.SiteQuery{{Search: name, Deleted: deleted}}
	if labelForm.MatchString(name) {
		queries = append(queries, galley.SiteQuery{Label: name, Deleted: deleted})
	}
	for _, query := range queries {
		for site, err := range s.Client.Sites.All(s.ctx(), query) {
			if err != nil {
				return nil, err
			}
			known := slices.ContainsFunc(found, func(other galley.Site) bool { return other.ID == site.ID })
			if !known && (query.Label != "" || strings.EqualFold(site.Name, name)) {
				found = append(found, site)
			}
		}
	}
	return found, nil
}

// siteOfOrigin asks the server which site a visitor of an origin sees: it may be the origin
// of the site or of one of its locales.
func (s *Session) siteOfOrigin(origin string) (galley.Site, error) {
	resolution, err := s.Client.Resolve(s.ctx(), galley.ResolveQuery{URL: origin})
	switch {
	case errors.Is(err, galley.ErrNotFound):
		return galley.Site{}, s.unknownSite(origin)
	case errors.Is(err, galley.ErrConflict):
		return galley.Site{}, usage("several sites have the origin %s: name one by its id; 'galley sites list' shows it", origin)
	case err != nil:
		return galley.Site{}, err
	}
	return s.Client.Sites.Get(s.ctx(), resolution.SiteID)
}

func (s *Session) onlySite() (galley.Site, error) {
	sites, err := s.Client.Sites.List(s.ctx(), galley.SiteQuery{})
	if errors.Is(err, galley.ErrForbidden) { // the keys of sites and previews are for one
		if me, err := s.Client.Me(s.ctx()); err == nil && me.SiteID != nil {
			return s.Client.Sites.Get(s.ctx(), *me.SiteID)
		}
	}
	switch {
	case err != nil:
		return galley.Site{}, err
	case len(sites.Data) == 0:
		return galley.Site{}, usage("there is no site yet: create one with 'galley sites create NAME'")
	case len(sites.Data) > 1:
		return galley.Site{}, usage("there are several sites; name one with --site:\n%s", candidates(sites.Data))
	}
	return sites.Data[0], nil
}

// maxSuggested bounds how many sites are read to suggest one.
const maxSuggested = 1000

// unknownSite says that there is no such site, and names similar ones.
func (s *Session) unknownSite(name string) error {
	var names []string
	n := 0
	for site, err := range s.Client.Sites.All(s.ctx(), galley.SiteQuery{}) {
		if err != nil {
			return err
		}
		names = append(append(names, site.Name), site.Labels...)
		if site.HostOrigin != nil {
			names = append(names, *site.HostOrigin)
		}
		if n++; n == maxSuggested {
			break
		}
	}
	return usage("there is no site %q.%s 'galley sites list' lists them", name, suggest(name, names))
}

func ambiguous(name string, sites []galley.Site) error {
	return usage("%q may be any of these sites; name it by its id:\n%s", name, candidates(sites))
}

// siteFlag is the site of the resources that a command is about.
type siteFlag struct {
	Site string `help:"The site: its id, name, origin or label (default: the only one)." short:"s" placeholder:"SITE"`
}

// of returns the id of the site. A resource that is named by its id needs none.
func (f siteFlag) of(s *Session, resource string) (string, error) {
	if f.Site == "" && idForm.MatchString(resource) {
		return "", nil
	}
	return s.SiteID(f.Site)
}

// candidates lists sites, one in a line.
func candidates(sites []galley.Site) string {
	lines := make([]string, len(sites))
	for i, site := range sites {
		origin := "no origin"
		if site.HostOrigin != nil {
			origin = *site.HostOrigin
		}
		lines[i] = fmt.Sprintf("  %s  %s (%s)", site.ID, printable(site.Name), origin)
	}
	return strings.Join(lines, "\n")
}

// suggest asks whether one of the similar names was meant.
func suggest(name string, names []string) string {
	if similar := config.Similar(name, names); similar != "" {
		return fmt.Sprintf(" Did you mean %q?", similar)
	}
	return ""
}
