package client

import (
	galley "galley/sdk/go"
)

var (
	pageColumns    = []string{"id", "pathname", "title", "status", "online=isOnline", "updated=updatedAt"}
	segmentColumns = []string{"pathname", "title=page.title", "status=page.status", "online=page.isOnline", "below=count"}
)

type pagesCommand struct {
	List       pagesListCommand       `cmd:"" help:"List the pages of a site."`
	Tree       pagesTreeCommand       `cmd:"" help:"List the pathnames one segment below another."`
	Get        pagesGetCommand        `cmd:"" help:"Show a page."`
	Create     pagesCreateCommand     `cmd:"" help:"Create a page in the draft."`
	Update     pagesUpdateCommand     `cmd:"" help:"Change a page in the draft, or a locale of it."`
	Delete     pagesDeleteCommand     `cmd:"" help:"Delete a page from the draft."`
	Restore    pagesRestoreCommand    `cmd:"" help:"Restore a deleted page."`
	Delocalize pagesDelocalizeCommand `cmd:"" help:"Drop what a locale overrides of a page."`
	Publish    pagesPublishCommand    `cmd:"" help:"Publish one page."`
	Discard    pagesDiscardCommand    `cmd:"" help:"Return the draft of a page to what is live."`
	Publishes  pagesPublishesCommand  `cmd:"" help:"List the publishes that changed a page."`
	Content    contentCommand         `cmd:"" help:"Read and write the content of a page."`
	Import     pagesImportCommand     `cmd:"" help:"Create or update pages from a CSV file."`
}

// localeFlag selects a locale of pages.
type localeFlag struct {
	Locale string `help:"Code of a locale (default: the default one of the site)." placeholder:"CODE"`
}

// versionFlag selects a version of a site.
type versionFlag struct {
	Version string `help:"Version: ref:draft, ref:live or publish:ID." placeholder:"VERSION"`
}

type pagesListCommand struct {
	listFlags
	siteFlag
	localeFlag
	versionFlag

	Search        string   `help:"List pages whose pathname, name or title contains this." placeholder:"TEXT"`
	PathPrefix    string   `help:"List pages whose pathname begins with this." placeholder:"PREFIX"`
	Status        []string `help:"List pages of these: new, changed, live, deleted, offline." placeholder:"STATUS"`
	SortBy        string   `help:"path, title, description, createdAt or updatedAt (default path)." placeholder:"FIELD"`
	SortDirection string   `help:"asc or desc (default asc)." placeholder:"DIRECTION"`
	Offline       bool     `help:"List the pages that are offline, too."`
	Deleted       bool     `help:"List the deleted pages."`
}

func (c *pagesListCommand) Run(s *Session) error {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	query := galley.PageQuery{
		SiteID: id, PathPrefix: c.PathPrefix, SortBy: c.SortBy, SortDirection: c.SortDirection, IncludeOffline: c.Offline,
		Locale: c.Locale, VersionRef: c.Version, Status: c.Status, Deleted: c.Deleted, Search: c.Search,
	}
	return list(s, c.listFlags, pageColumns, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Page], error) {
		query.ListOptions = page
		return s.Client.Pages.List(s.ctx(), query, options...)
	})
}

type pagesTreeCommand struct {
	listFlags
	siteFlag
	localeFlag
	versionFlag

	Under string `arg:"" optional:"" help:"Pathname to look below (default /)."`
}

func (c *pagesTreeCommand) Run(s *Session) error {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	return list(s, c.listFlags, segmentColumns, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.PathSegment], error) {
		return s.Client.Pages.Tree(s.ctx(), galley.TreeQuery{ListOptions: page, SiteID: id, Under: c.Under, Locale: c.Locale, VersionRef: c.Version}, options...)
	})
}

// pageArgument is the page that a command is about.
type pageArgument struct {
	Flags
	siteFlag

	Page string `arg:"" help:"The page: its pathname or id."`
}

// id returns the id of the page, for endpoints that take no pathname.
func (c *pageArgument) id(s *Session) (string, error) {
	return s.pageID(c.siteFlag, c.Page)
}

func (s *Session) pageID(f siteFlag, page string) (string, error) {
	if idForm.MatchString(page) {
		return page, nil
	}
	site, err := s.SiteID(f.Site)
	if err != nil {
		return "", err
	}
	found, err := s.Client.Pages.Get(s.ctx(), page, galley.PageRef{SiteID: site})
	return found.ID, err
}

// about calls the server for the page of a command and shows its answer.
func (c *pageArgument) about(s *Session, call func(id string) error) error {
	id, err := c.id(s)
	if err != nil {
		return err
	}
	return s.show(call(id))
}

type pagesGetCommand struct {
	pageArgument
	localeFlag
	versionFlag
}

func (c *pagesGetCommand) Run(s *Session) error {
	id, err := c.of(s, c.Page)
	if err != nil {
		return err
	}
	_, err = s.Client.Pages.Get(s.ctx(), c.Page, galley.PageRef{SiteID: id, Locale: c.Locale, VersionRef: c.Version}, s.raw())
	return s.show(err)
}

// pageFields are the fields of galley.PagePatch.
type pageFields struct {
	Name                      galley.Opt[string]           `help:"Name, for people who edit." placeholder:"NAME"`
	Pathname                  galley.Opt[string]           `help:"Pathname, such as /about." placeholder:"PATHNAME"`
	Title                     galley.Opt[string]           `help:"Title." placeholder:"TITLE"`
	Description               galley.Opt[string]           `help:"Description, for search engines." placeholder:"TEXT"`
	CanonicalURL              galley.Opt[string]           `help:"Canonical URL." placeholder:"URL"`
	SocialImageURL            galley.Opt[string]           `help:"URL of the image that social networks show." placeholder:"URL"`
	SitemapPriority           galley.Opt[float64]          `help:"Priority in the sitemap, 0 to 1." placeholder:"NUMBER"`
	SitemapFrequency          galley.Opt[galley.Frequency] `help:"How often the page changes, such as weekly." placeholder:"FREQUENCY"`
	IsOnline                  galley.Opt[bool]             `help:"Whether visitors see the page: true or false." placeholder:"BOOL"`
	ExcludedFromSearchEngines galley.Opt[bool]             `help:"Whether search engines should leave it out: true or false." placeholder:"BOOL"`
}

type pagesCreateCommand struct {
	Flags
	siteFlag
	pageFields
}

func (c *pagesCreateCommand) Run(s *Session) error {
	body, err := convert[galley.PageCreate](galley.PagePatch(c.pageFields))
	if err != nil {
		return err
	}
	if body.SiteID, err = s.SiteID(c.Site); err != nil {
		return err
	}
	_, err = s.Client.Pages.Create(s.ctx(), body, s.raw())
	return s.show(err)
}

type pagesUpdateCommand struct {
	pageArgument
	localeFlag
	pageFields
	clearFlag
}

func (c *pagesUpdateCommand) Run(s *Session) error {
	patch := galley.PagePatch(c.pageFields)
	if err := c.apply(&patch); err != nil {
		return err
	}
	id, err := c.of(s, c.Page)
	if err != nil {
		return err
	}
	_, err = s.Client.Pages.Update(s.ctx(), c.Page, galley.PageRef{SiteID: id, Locale: c.Locale}, patch, s.raw())
	return s.show(err)
}

type pagesDeleteCommand struct {
	pageArgument
	yesFlag
}

func (c *pagesDeleteCommand) Run(s *Session) error {
	id, err := c.of(s, c.Page)
	if err != nil {
		return err
	}
	if err := s.confirm(c.Yes, "Delete the page %s?", c.Page); err != nil {
		return err
	}
	return s.done(s.Client.Pages.Delete(s.ctx(), c.Page, galley.PageRef{SiteID: id}), "Deleted the page %s from the draft.", c.Page)
}

type pagesRestoreCommand struct {
	Flags

	Page string `arg:"" help:"The id of the page; 'galley pages list --deleted' shows it."`
}

func (c *pagesRestoreCommand) Run(s *Session) error {
	_, err := s.Client.Pages.Restore(s.ctx(), c.Page, s.raw())
	return s.show(err)
}

type pagesDelocalizeCommand struct {
	pageArgument
	yesFlag

	Locale string `arg:"" help:"Code of the locale."`
}

func (c *pagesDelocalizeCommand) Run(s *Session) error {
	id, err := c.id(s)
	if err != nil {
		return err
	}
	if err := s.confirm(c.Yes, "Drop what %s overrides of the page %s?", c.Locale, c.Page); err != nil {
		return err
	}
	return s.done(s.Client.Pages.Delocalize(s.ctx(), id, c.Locale), "The page %s inherits everything in %s.", c.Page, c.Locale)
}

type pagesPublishCommand struct {
	pageArgument
	yesFlag
}

func (c *pagesPublishCommand) Run(s *Session) error {
	if err := s.confirm(c.Yes, "Publish the page %s?", c.Page); err != nil {
		return err
	}
	return c.about(s, func(id string) error {
		_, err := s.Client.Pages.Publish(s.ctx(), id, s.raw())
		return err
	})
}

type pagesDiscardCommand struct {
	pageArgument
	yesFlag
}

func (c *pagesDiscardCommand) Run(s *Session) error {
	id, err := c.id(s)
	if err != nil {
		return err
	}
	if err := s.confirm(c.Yes, "Discard the changes of the page %s that are not published?", c.Page); err != nil {
		return err
	}
	page, err := s.Client.Pages.Discard(s.ctx(), id, s.raw())
	if err == nil && page == nil {
		return s.done(nil, "Deleted the page %s, which was never published.", c.Page)
	}
	return s.show(err)
}

type pagesPublishesCommand struct {
	listFlags
	siteFlag

	Page string `arg:"" help:"The page: its pathname or id."`
}

func (c *pagesPublishesCommand) Run(s *Session) error {
	id, err := s.pageID(c.siteFlag, c.Page)
	if err != nil {
		return err
	}
	return list(s, c.listFlags, publishColumns, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Publish], error) {
		return s.Client.Pages.Publishes(s.ctx(), id, page, options...)
	})
}
