package client

import (
	"time"

	galley "galley/sdk/go"
)

var previewColumns = []string{"id", "name", "version=versionRef", "below=pathPrefix", "expires=expiresAt", "used=lastUsedAt"}

type previewsCommand struct {
	List   previewsListCommand   `cmd:"" help:"List the previews of a site."`
	Get    previewsGetCommand    `cmd:"" help:"Show a preview."`
	Create previewsCreateCommand `cmd:"" help:"Create a preview and print its token."`
	Delete previewsDeleteCommand `cmd:"" help:"End a preview."`
}

type previewsListCommand struct {
	listFlags
	siteFlag
}

func (c *previewsListCommand) Run(s *Session) error {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	return list(s, c.listFlags, previewColumns, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Preview], error) {
		return s.Client.Previews.List(s.ctx(), galley.PreviewQuery{ListOptions: page, SiteID: id}, options...)
	})
}

// previewArgument is the preview that a command is about.
type previewArgument struct {
	Flags

	Preview string `arg:"" help:"The id of the preview."`
}

type previewsGetCommand struct{ previewArgument }

func (c *previewsGetCommand) Run(s *Session) error {
	_, err := s.Client.Previews.Get(s.ctx(), c.Preview, s.raw())
	return s.show(err)
}

type previewsCreateCommand struct {
	Flags
	siteFlag
	versionFlag

	Name       galley.Opt[string] `help:"Name of the preview." placeholder:"NAME"`
	Locale     galley.Opt[string] `help:"Code of the locale to show." placeholder:"CODE"`
	PathPrefix string             `help:"Pathname at and below which it reads (default /)." placeholder:"PATHNAME"`
	Expires    time.Duration      `help:"How long it works, such as 12h or 5d (default 5d)." placeholder:"DURATION"`
}

func (c *previewsCreateCommand) Run(s *Session) error {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	_, err = s.Client.Previews.Create(s.ctx(), galley.PreviewCreate{
		SiteID: id, Name: c.Name, VersionRef: c.Version, Locale: c.Locale, PathPrefix: c.PathPrefix, ExpiresInSeconds: seconds(c.Expires),
	}, s.raw())
	return s.show(err)
}

type previewsDeleteCommand struct {
	previewArgument
	yesFlag
}

func (c *previewsDeleteCommand) Run(s *Session) error {
	if err := s.confirm(c.Yes, "End the preview %s?", c.Preview); err != nil {
		return err
	}
	return s.done(s.Client.Previews.Delete(s.ctx(), c.Preview), "Ended the preview %s.", c.Preview)
}
