package client

import (
	"time"

	galley "galley/sdk/go"
)

var siteColumns = []string{"id", "name", "hostOrigin", "locale=defaultLocale", "labels", "updated=updatedAt"}

type sitesCommand struct {
	List      sitesListCommand      `cmd:"" help:"List the sites."`
	Get       sitesGetCommand       `cmd:"" help:"Show a site."`
	Create    sitesCreateCommand    `cmd:"" help:"Create a site."`
	Update    sitesUpdateCommand    `cmd:"" help:"Change the settings of a site."`
	Delete    sitesDeleteCommand    `cmd:"" help:"Delete a site with everything in it. It can be restored for some time."`
	Restore   sitesRestoreCommand   `cmd:"" help:"Restore a deleted site."`
	Duplicate sitesDuplicateCommand `cmd:"" help:"Copy a site with its pages, locales, routes and redirects."`
	RotateKey sitesRotateKeyCommand `cmd:"" help:"Replace the Site key."`
	Summary   sitesSummaryCommand   `cmd:"" help:"Count what a site has."`
	Discard   sitesDiscardCommand   `cmd:"" help:"Return the draft of a site to what is live."`
	Sitemap   sitesSitemapCommand   `cmd:"" help:"Print the sitemap of a site."`
	Robots    sitesRobotsCommand    `cmd:"" help:"Print the robots.txt of a site."`
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

// about calls the server for the site of a command and shows its answer.
func (c *siteArgument) about(s *Session, call func(id string) error) error {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	return s.show(call(id))
}

type sitesGetCommand struct{ siteArgument }

func (c *sitesGetCommand) Run(s *Session) error {
	return c.about(s, func(id string) error {
		_, err := s.Client.Sites.Get(s.ctx(), id, s.raw())
		return err
	})
}

type sitesSummaryCommand struct{ siteArgument }

func (c *sitesSummaryCommand) Run(s *Session) error {
	return c.about(s, func(id string) error {
		_, err := s.Client.Sites.Summary(s.ctx(), id, s.raw())
		return err
	})
}

// siteFields are the fields of galley.SitePatch.
type siteFields struct {
	Name                    galley.Opt[string]   `help:"Name of the site." placeholder:"NAME"`
	HostOrigin              galley.Opt[string]   `help:"Origin that visitors use, such as https://example.com." placeholder:"ORIGIN"`
	DefaultLocale           galley.Opt[string]   `help:"Code of the default locale." placeholder:"CODE"`
	DefaultLocalePathPrefix galley.Opt[string]   `help:"Path prefix of the default locale (only update)." placeholder:"PREFIX"`
	SiteKeyAccess           galley.Opt[string]   `help:"What the Site key reads: draft or live." placeholder:"VERSION"`
	LocaleManagementMode    galley.Opt[string]   `help:"internal or external." placeholder:"MODE"`
	AutoRedirects           galley.Opt[bool]     `help:"Whether moved pages leave redirects: true or false." placeholder:"BOOL"`
	PreviewURLTemplate      galley.Opt[string]   `help:"URL of previews, with {pathname}, {locale} and {token}." placeholder:"URL"`
	Labels                  galley.Opt[[]string] `help:"Labels, separated by commas." placeholder:"LABELS"`
}

type sitesCreateCommand struct {
	Flags
	siteFields
}

func (c *sitesCreateCommand) Run(s *Session) error {
	body, err := convert[galley.SiteCreate](galley.SitePatch(c.siteFields))
	if err != nil {
		return err
	}
	_, err = s.Client.Sites.Create(s.ctx(), body, s.raw())
	return s.show(err)
}

type sitesUpdateCommand struct {
	siteArgument
	siteFields
	clearFlag
}

func (c *sitesUpdateCommand) Run(s *Session) error {
	patch := galley.SitePatch(c.siteFields)
	if err := c.apply(&patch); err != nil {
		return err
	}
	return c.about(s, func(id string) error {
		_, err := s.Client.Sites.Update(s.ctx(), id, patch, s.raw())
		return err
	})
}

// yesFlag answers the question of a command that destroys something.
type yesFlag struct {
	Yes bool `help:"Do it without asking." short:"y"`
}

// confirmFlag lets pass what the server would refuse as a mistake.
type confirmFlag struct {
	Confirm bool `help:"Do it even if many pages disappear."`
}

type sitesDeleteCommand struct {
	siteArgument
	yesFlag
}

func (c *sitesDeleteCommand) Run(s *Session) error {
	site, err := s.Site(c.Site)
	if err != nil {
		return err
	}
	if err := s.confirm(c.Yes, "Delete the site %s with everything in it?", printable(site.Name)); err != nil {
		return err
	}
	return s.done(s.Client.Sites.Delete(s.ctx(), site.ID), "Deleted the site %s. Restore it with 'galley sites restore %s'.", printable(site.Name), site.ID)
}

type sitesRestoreCommand struct {
	Flags

	Site string `arg:"" help:"The deleted site: its id, name or label."`
}

func (c *sitesRestoreCommand) Run(s *Session) error {
	id := c.Site
	if !idForm.MatchString(id) {
		sites, err := s.sitesCalled(c.Site, true)
		switch {
		case err != nil:
			return err
		case len(sites) == 0:
			return usage("there is no deleted site %q; 'galley sites list --deleted' lists them", c.Site)
		case len(sites) > 1:
			return ambiguous(c.Site, sites)
		}
		id = sites[0].ID
	}
	_, err := s.Client.Sites.Restore(s.ctx(), id, s.raw())
	return s.show(err)
}

type sitesDuplicateCommand struct {
	siteArgument

	Name string `help:"Name of the copy." required:"" placeholder:"NAME"`
}

func (c *sitesDuplicateCommand) Run(s *Session) error {
	return c.about(s, func(id string) error {
		_, err := s.Client.Sites.Duplicate(s.ctx(), id, galley.SiteDuplicate{Name: c.Name}, s.raw())
		return err
	})
}

// graceFlag is how long an old key or secret goes on working.
type graceFlag struct {
	Grace time.Duration `help:"How long the old one goes on working, such as 1h or 7d." placeholder:"DURATION"`
}

func (g graceFlag) body() galley.KeyRotate { return galley.KeyRotate{GraceSeconds: seconds(g.Grace)} }

type sitesRotateKeyCommand struct {
	siteArgument
	graceFlag
	yesFlag
}

func (c *sitesRotateKeyCommand) Run(s *Session) error {
	if err := s.confirm(c.Yes, "Replace the key of the site %s? Front ends need the new one.", c.Site); err != nil {
		return err
	}
	return c.about(s, func(id string) error {
		_, err := s.Client.Sites.RotateKey(s.ctx(), id, c.body(), s.raw())
		return err
	})
}

type sitesDiscardCommand struct {
	siteArgument
	selectionFlags
	yesFlag
	confirmFlag
}

func (c *sitesDiscardCommand) Run(s *Session) error {
	site, err := s.Site(c.Site)
	if err != nil {
		return err
	}
	selection, err := c.selection(s, site.ID)
	if err != nil {
		return err
	}
	if err := s.confirm(c.Yes, "Discard the changes of the site %s that are not published?", printable(site.Name)); err != nil {
		return err
	}
	_, err = s.Client.Sites.Discard(s.ctx(), site.ID, galley.Discard{Selection: selection, Confirm: c.Confirm}, s.raw())
	return s.show(err)
}

// originFlag is one of the origins of a site.
type originFlag struct {
	Origin string `help:"Origin (default: that of the site)." placeholder:"ORIGIN"`
}

type sitesSitemapCommand struct {
	siteArgument
	originFlag
	versionFlag

	Part int `help:"Part of a large sitemap." placeholder:"NUMBER"`
}

func (c *sitesSitemapCommand) Run(s *Session) error {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	text, err := s.Client.Sites.Sitemap(s.ctx(), id, galley.SitemapQuery{Origin: c.Origin, VersionRef: c.Version, Part: c.Part})
	return s.printText(text, err)
}

type sitesRobotsCommand struct {
	siteArgument
	originFlag
}

func (c *sitesRobotsCommand) Run(s *Session) error {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	text, err := s.Client.Sites.Robots(s.ctx(), id, galley.RobotsQuery{Origin: c.Origin})
	return s.printText(text, err)
}
