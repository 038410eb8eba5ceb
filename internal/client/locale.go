package client

import galley "galley/sdk/go"

var localeColumns = []string{"id", "locale", "default=isDefault", "domain", "pathPrefix"}

type localesCommand struct {
	List    localesListCommand    `cmd:"" help:"List the locales of a site."`
	Get     localesGetCommand     `cmd:"" help:"Show a locale."`
	Create  localesCreateCommand  `cmd:"" help:"Add a locale to a site."`
	Update  localesUpdateCommand  `cmd:"" help:"Change a locale."`
	Delete  localesDeleteCommand  `cmd:"" help:"Delete a locale with its localizations. It can be restored."`
	Restore localesRestoreCommand `cmd:"" help:"Restore a deleted locale."`
}

type localesListCommand struct {
	listFlags
	siteFlag

	Deleted bool `help:"List the deleted locales."`
}

func (c *localesListCommand) Run(s *Session) error {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	return list(s, c.listFlags, localeColumns, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Locale], error) {
		return s.Client.Locales.List(s.ctx(), galley.LocaleQuery{ListOptions: page, SiteID: id, Deleted: c.Deleted}, options...)
	})
}

// localeArgument is the locale that a command is about.
type localeArgument struct {
	Flags
	siteFlag

	Locale string `arg:"" help:"The locale: its code, or its id."`
}

func (c *localeArgument) about(s *Session, call func(galley.SiteRef) error) error {
	id, err := c.of(s, c.Locale)
	if err != nil {
		return err
	}
	return s.show(call(galley.SiteRef{SiteID: id}))
}

type localesGetCommand struct{ localeArgument }

func (c *localesGetCommand) Run(s *Session) error {
	return c.about(s, func(site galley.SiteRef) error {
		_, err := s.Client.Locales.Get(s.ctx(), c.Locale, site, s.raw())
		return err
	})
}

// localeFields are the fields of galley.LocalePatch.
type localeFields struct {
	Locale     galley.Opt[string] `help:"Code, such as fr or pt-BR." placeholder:"CODE"`
	Domain     galley.Opt[string] `help:"Origin of the locale, such as https://example.fr." placeholder:"ORIGIN"`
	PathPrefix galley.Opt[string] `help:"First segment of its paths; empty for none (default: the code)." placeholder:"PREFIX"`
}

type localesCreateCommand struct {
	Flags
	siteFlag
	localeFields
}

func (c *localesCreateCommand) Run(s *Session) error {
	body, err := convert[galley.LocaleCreate](galley.LocalePatch(c.localeFields))
	if err != nil {
		return err
	}
	if body.SiteID, err = s.SiteID(c.Site); err != nil {
		return err
	}
	_, err = s.Client.Locales.Create(s.ctx(), body, s.raw())
	return s.show(err)
}

type localesUpdateCommand struct {
	localeArgument
	clearFlag

	Fields localeFields `embed:""`
}

func (c *localesUpdateCommand) Run(s *Session) error {
	patch := galley.LocalePatch(c.Fields)
	if err := c.apply(&patch); err != nil {
		return err
	}
	return c.about(s, func(site galley.SiteRef) error {
		_, err := s.Client.Locales.Update(s.ctx(), c.Locale, site, patch, s.raw())
		return err
	})
}

type localesDeleteCommand struct {
	localeArgument
	yesFlag
}

func (c *localesDeleteCommand) Run(s *Session) error {
	id, err := c.of(s, c.Locale)
	if err != nil {
		return err
	}
	if err := s.confirm(c.Yes, "Delete the locale %s with its localizations?", c.Locale); err != nil {
		return err
	}
	return s.done(s.Client.Locales.Delete(s.ctx(), c.Locale, galley.SiteRef{SiteID: id}), "Deleted the locale %s.", c.Locale)
}

type localesRestoreCommand struct{ localeArgument }

func (c *localesRestoreCommand) Run(s *Session) error {
	return c.about(s, func(site galley.SiteRef) error {
		_, err := s.Client.Locales.Restore(s.ctx(), c.Locale, site, s.raw())
		return err
	})
}
