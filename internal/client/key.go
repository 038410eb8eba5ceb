package client

import (
	"time"

	galley "galley/sdk/go"
)

var keyColumns = []string{"id", "name", "ends=keyHint", "scopes", "used=lastUsedAt", "expires=expiresAt"}

type keysCommand struct {
	List   keysListCommand   `cmd:"" help:"List the apps and their keys."`
	Get    keysGetCommand    `cmd:"" help:"Show an app."`
	Create keysCreateCommand `cmd:"" help:"Create an app and print its key."`
	Update keysUpdateCommand `cmd:"" help:"Change an app."`
	Rotate keysRotateCommand `cmd:"" help:"Replace the key of an app and print the new one."`
	Delete keysDeleteCommand `cmd:"" help:"Delete an app: its keys stop working."`
}

type keysListCommand struct{ listFlags }

func (c *keysListCommand) Run(s *Session) error {
	return list(s, c.listFlags, keyColumns, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.App], error) {
		return s.Client.Apps.List(s.ctx(), galley.AppQuery{ListOptions: page}, options...)
	})
}

// keyArgument is the app that a command is about.
type keyArgument struct {
	Flags

	App string `arg:"" help:"The id of the app."`
}

type keysGetCommand struct{ keyArgument }

func (c *keysGetCommand) Run(s *Session) error {
	_, err := s.Client.Apps.Get(s.ctx(), c.App, s.raw())
	return s.show(err)
}

// keyFields are the fields of galley.AppPatch.
type keyFields struct {
	Name        galley.Opt[string]    `help:"Name of the app." placeholder:"NAME"`
	Description galley.Opt[string]    `help:"What it is for." placeholder:"TEXT"`
	Scopes      galley.Opt[[]string]  `help:"What it may do: read, write, publish, admin, separated by commas." placeholder:"SCOPES"`
	SiteIDs     galley.Opt[[]string]  `name:"sites" help:"The only sites that it reaches, separated by commas: ids, names, origins or labels." placeholder:"SITES"`
	ExpiresAt   galley.Opt[time.Time] `help:"When its key stops working." placeholder:"TIME"`
}

// body returns the fields, with the ids of the sites that they name.
func (f keyFields) body(s *Session) (patch galley.AppPatch, err error) {
	patch = galley.AppPatch(f)
	patch.SiteIDs, err = s.siteIDs(f.SiteIDs)
	return patch, err
}

// siteIDs replaces the names of sites by their ids.
func (s *Session) siteIDs(sites galley.Opt[[]string]) (galley.Opt[[]string], error) {
	names, ok := sites.Get()
	if !ok {
		return sites, nil
	}
	ids := []string{}
	for _, name := range names {
		id, err := s.SiteID(name)
		if err != nil {
			return sites, err
		}
		ids = append(ids, id)
	}
	return galley.Value(ids), nil
}

type keysCreateCommand struct {
	Flags
	keyFields
}

func (c *keysCreateCommand) Run(s *Session) error {
	patch, err := c.body(s)
	if err != nil {
		return err
	}
	body, err := convert[galley.AppCreate](patch)
	if err != nil {
		return err
	}
	_, err = s.Client.Apps.Create(s.ctx(), body, s.raw())
	return s.show(err)
}

type keysUpdateCommand struct {
	keyArgument
	keyFields
	clearFlag
}

func (c *keysUpdateCommand) Run(s *Session) error {
	patch, err := c.body(s)
	if err != nil {
		return err
	}
	if err := c.apply(&patch); err != nil {
		return err
	}
	_, err = s.Client.Apps.Update(s.ctx(), c.App, patch, s.raw())
	return s.show(err)
}

type keysRotateCommand struct {
	keyArgument
	graceFlag
	yesFlag
}

func (c *keysRotateCommand) Run(s *Session) error {
	if err := s.confirm(c.Yes, "Replace the key of the app %s? Its programs need the new one.", c.App); err != nil {
		return err
	}
	_, err := s.Client.Apps.Rotate(s.ctx(), c.App, c.graceFlag.body(), s.raw())
	return s.show(err)
}

type keysDeleteCommand struct {
	keyArgument
	yesFlag
}

func (c *keysDeleteCommand) Run(s *Session) error {
	if err := s.confirm(c.Yes, "Delete the app %s? Its keys stop working.", c.App); err != nil {
		return err
	}
	return s.done(s.Client.Apps.Delete(s.ctx(), c.App), "Deleted the app %s. Its keys no longer work.", c.App)
}
