package client

import galley "galley/sdk/go"

type routesCommand struct {
	List   routesListCommand   `cmd:"" help:"List the routes of a site."`
	Get    routesGetCommand    `cmd:"" help:"Show a route."`
	Create routesCreateCommand `cmd:"" help:"Reserve a pathname that another system serves."`
	Update routesUpdateCommand `cmd:"" help:"Change the pathname of a route."`
	Delete routesDeleteCommand `cmd:"" help:"Delete a route."`
}

type routesListCommand struct {
	listFlags
	siteFlag
}

func (c *routesListCommand) Run(s *Session) error {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	return list(s, c.listFlags, []string{"id", "pathname"}, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Route], error) {
		return s.Client.Routes.List(s.ctx(), galley.RouteQuery{ListOptions: page, SiteID: id}, options...)
	})
}

// routeArgument is the route that a command is about.
type routeArgument struct {
	Flags
	siteFlag

	Route string `arg:"" help:"The route: its id or pathname."`
}

type routesGetCommand struct{ routeArgument }

func (c *routesGetCommand) Run(s *Session) error {
	id, err := c.of(s, c.Route)
	if err != nil {
		return err
	}
	_, err = s.Client.Routes.Get(s.ctx(), c.Route, galley.SiteRef{SiteID: id}, s.raw())
	return s.show(err)
}

// routeFields are the fields of a new or changed route.
type routeFields struct {
	Pathname       string `help:"The pathname." required:"" placeholder:"PATHNAME"`
	SkipValidation bool   `help:"Allow a pattern of another system, such as /products/[slug]."`
}

type routesCreateCommand struct {
	Flags
	siteFlag
	routeFields
}

func (c *routesCreateCommand) Run(s *Session) error {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	body := galley.RouteCreate{SiteID: id, Pathname: c.Pathname}
	_, err = s.Client.Routes.Create(s.ctx(), body, galley.RouteRef{SkipValidation: c.SkipValidation}, s.raw())
	return s.show(err)
}

type routesUpdateCommand struct {
	routeArgument
	routeFields
}

func (c *routesUpdateCommand) Run(s *Session) error {
	id, err := c.of(s, c.Route)
	if err != nil {
		return err
	}
	patch := galley.RoutePatch{Pathname: galley.Value(c.Pathname)}
	_, err = s.Client.Routes.Update(s.ctx(), c.Route, galley.RouteRef{SiteID: id, SkipValidation: c.SkipValidation}, patch, s.raw())
	return s.show(err)
}

type routesDeleteCommand struct {
	routeArgument
	yesFlag
}

func (c *routesDeleteCommand) Run(s *Session) error {
	id, err := c.of(s, c.Route)
	if err != nil {
		return err
	}
	if err := s.confirm(c.Yes, "Delete the route %s?", c.Route); err != nil {
		return err
	}
	return s.done(s.Client.Routes.Delete(s.ctx(), c.Route, galley.SiteRef{SiteID: id}), "Deleted the route %s.", c.Route)
}
