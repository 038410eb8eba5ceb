package client

import (
	galley "galley/sdk/go"
)

var siteColumns = []string{"id", "name", "hostOrigin", "defaultLocale", "labels", "updatedAt"}

type sitesCommand struct {
	List sitesListCommand `cmd:"" help:"List the sites."`
	Get  sitesGetCommand  `cmd:"" help:"Show a site."`
}

type sitesListCommand struct {
	listFlags

	Search  string `help:"List sites whose names contain this." placeholder:"TEXT"`
	Label   string `help:"List sites with this label." placeholder:"LABEL"`
	Deleted bool   `help:"List the deleted sites."`
}

func (c *sitesListCommand) Run(s *Session) error {
	return list(s, c.listFlags, siteColumns, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Site], error) {
		return s.Client.Sites.List(s.ctx(), galley.SiteQuery{ListOptions: page, Search: c.Search, Label: c.Label, Deleted: c.Deleted}, options...)
	})
}

// siteArgument is the site that a command is about.
type siteArgument struct {
	Flags

	Site string `arg:"" help:"The site: its id, name, origin or label."`
}

type sitesGetCommand struct{ siteArgument }

func (c *sitesGetCommand) Run(s *Session) error {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	_, err = s.Client.Sites.Get(s.ctx(), id, s.raw())
	return s.show(err)
}
