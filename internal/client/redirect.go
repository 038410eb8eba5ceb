package client

import galley "galley/sdk/go"

var redirectColumns = []string{"id", "source", "target", "status", "locale", "automatic=isAutomatic"}

type redirectsCommand struct {
	List    redirectsListCommand    `cmd:"" help:"List the redirects of a site."`
	Get     redirectsGetCommand     `cmd:"" help:"Show a redirect."`
	Create  redirectsCreateCommand  `cmd:"" help:"Create a redirect in the draft."`
	Update  redirectsUpdateCommand  `cmd:"" help:"Change a redirect in the draft."`
	Delete  redirectsDeleteCommand  `cmd:"" help:"Delete a redirect from the draft."`
	Restore redirectsRestoreCommand `cmd:"" help:"Restore a deleted redirect."`
	Discard redirectsDiscardCommand `cmd:"" help:"Return the draft of a redirect to what is live."`
	Import  redirectsImportCommand  `cmd:"" help:"Create or update redirects from a CSV file."`
}

type redirectsListCommand struct {
	listFlags
	siteFlag
	localeFlag
	versionFlag

	SourcePrefix string `help:"List redirects whose source begins with this." placeholder:"PREFIX"`
	Deleted      bool   `help:"List the deleted redirects."`
}

func (c *redirectsListCommand) Run(s *Session) error {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	return list(s, c.listFlags, redirectColumns, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Redirect], error) {
		return s.Client.Redirects.List(s.ctx(), galley.RedirectQuery{
			ListOptions: page, SiteID: id, Locale: c.Locale, SourcePrefix: c.SourcePrefix, VersionRef: c.Version, Deleted: c.Deleted,
		}, options...)
	})
}

// redirectArgument is the redirect that a command is about.
type redirectArgument struct {
	Flags

	Redirect string `arg:"" help:"The id of the redirect."`
}

type redirectsGetCommand struct {
	redirectArgument
	versionFlag
}

func (c *redirectsGetCommand) Run(s *Session) error {
	_, err := s.Client.Redirects.Get(s.ctx(), c.Redirect, galley.VersionQuery{VersionRef: c.Version}, s.raw())
	return s.show(err)
}

// redirectFields are the fields of galley.RedirectPatch.
type redirectFields struct {
	Source galley.Opt[string] `help:"Pathname that visitors ask for; /old/* for all below." placeholder:"PATHNAME"`
	Target galley.Opt[string] `help:"Pathname or URL that they are sent to." placeholder:"TARGET"`
	Status galley.Opt[int]    `help:"301, 302, 307 or 308 (default 308)." placeholder:"STATUS"`
	Locale galley.Opt[string] `help:"Code of the locale (default: every locale)." placeholder:"CODE"`
}

type redirectsCreateCommand struct {
	Flags
	siteFlag
	redirectFields
}

func (c *redirectsCreateCommand) Run(s *Session) error {
	body, err := convert[galley.RedirectCreate](galley.RedirectPatch(c.redirectFields))
	if err != nil {
		return err
	}
	if body.SiteID, err = s.SiteID(c.Site); err != nil {
		return err
	}
	_, err = s.Client.Redirects.Create(s.ctx(), body, s.raw())
	return s.show(err)
}

type redirectsUpdateCommand struct {
	redirectArgument
	redirectFields
	clearFlag
}

func (c *redirectsUpdateCommand) Run(s *Session) error {
	patch := galley.RedirectPatch(c.redirectFields)
	if err := c.apply(&patch); err != nil {
		return err
	}
	_, err := s.Client.Redirects.Update(s.ctx(), c.Redirect, patch, s.raw())
	return s.show(err)
}

type redirectsDeleteCommand struct {
	redirectArgument
	yesFlag
}

func (c *redirectsDeleteCommand) Run(s *Session) error {
	if err := s.confirm(c.Yes, "Delete the redirect %s?", c.Redirect); err != nil {
		return err
	}
	return s.done(s.Client.Redirects.Delete(s.ctx(), c.Redirect), "Deleted the redirect %s from the draft.", c.Redirect)
}

type redirectsRestoreCommand struct{ redirectArgument }

func (c *redirectsRestoreCommand) Run(s *Session) error {
	_, err := s.Client.Redirects.Restore(s.ctx(), c.Redirect, s.raw())
	return s.show(err)
}

type redirectsDiscardCommand struct {
	redirectArgument
	yesFlag
}

func (c *redirectsDiscardCommand) Run(s *Session) error {
	if err := s.confirm(c.Yes, "Discard the changes of the redirect %s that are not published?", c.Redirect); err != nil {
		return err
	}
	redirect, err := s.Client.Redirects.Discard(s.ctx(), c.Redirect, s.raw())
	if err == nil && redirect == nil {
		return s.done(nil, "Deleted the redirect %s, which was never published.", c.Redirect)
	}
	return s.show(err)
}
