package client

import (
	"context"
	"errors"
	"fmt"

	galley "galley/sdk/go"
)

var eventColumns = []string{"at", "type", "resource=data.id", "locale", "actor=actor.name"}

type eventsCommand struct {
	List eventsListCommand `cmd:"" default:"withargs" help:"List events, oldest first, or follow them (the default)."`
}

type eventsListCommand struct {
	listFlags

	Site   string   `help:"Only events of this site." short:"s" placeholder:"SITE"`
	Types  []string `help:"Only events of these types, such as page.updated,publish.published." placeholder:"TYPES"`
	Since  timeFlag `help:"Only events at or after this time." placeholder:"TIME"`
	Follow bool     `help:"Print events as they happen, until interrupted." short:"f" xor:"all"`
}

func (c *eventsListCommand) Run(s *Session) error {
	id, err := s.anySite(c.Site)
	if err != nil {
		return err
	}
	query := galley.EventQuery{SiteID: id, Types: c.Types, Since: c.Since.Time}
	if c.Follow {
		query.StartingAfter = c.After
		return s.follow(query)
	}
	return list(s, c.listFlags, eventColumns, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Event], error) {
		query.ListOptions = page
		return s.Client.Events.List(s.ctx(), query, options...)
	})
}

// follow prints events as they happen, one in a line.
func (s *Session) follow(query galley.EventQuery) error {
	s.note("Following events. Stop with Ctrl-C.")
	for event, err := range s.Client.Events.Stream(s.ctx(), query, s.raw()) {
		if errors.Is(err, context.Canceled) {
			return nil // who interrupts it has seen enough
		}
		if err != nil {
			return err
		}
		if err := s.printEvent(event); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) printEvent(event galley.Event) error {
	switch s.output {
	case "ids":
		return s.print(event.ID + "\n")
	case "json":
		return s.print(string(s.body) + "\n")
	case "yaml":
		if err := s.print("---\n"); err != nil {
			return err
		}
		return s.Show(s.body)
	}
	value, err := ordered(s.body)
	if err != nil {
		return err
	}
	name := field(value, "data.pathname")
	if name == nil {
		name = field(value, "data.name")
	}
	return s.print(fmt.Sprintf("%s  %-18s %-36s %s\n", cell(field(value, "at"), false), event.Type, cell(field(value, "data.id"), false), cell(name, false)))
}
