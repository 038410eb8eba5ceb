package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	galley "galley/sdk/go"
)

var (
	publishColumns = []string{"id", "status", "changes=changeCount", "published=publishedAt", "for=publishAt", "name", "by=createdByName"}
	urlColumns     = []string{"change", "url"}
)

type publishCommand struct {
	Flags
	selectionFlags
	yesFlag
	confirmFlag

	Site string                `arg:"" help:"The site: its id, name, origin or label."`
	Plan string                `help:"Publish only if the changes are still those that 'galley changes' showed with this plan. Nothing is asked then." placeholder:"HASH"`
	At   galley.Opt[time.Time] `help:"Publish the draft as it is at this time." placeholder:"TIME"`
	Name galley.Opt[string]    `help:"Name of the publish." placeholder:"NAME"`
}

func (c *publishCommand) Run(s *Session) error {
	site, err := s.Site(c.Site)
	if err != nil {
		return err
	}
	body := galley.PublishCreate{Plan: c.Plan, Name: c.Name, PublishAt: c.At, Confirm: c.Confirm}
	if body.Selection, err = c.selection(s, site.ID); err != nil {
		return err
	}
	if err := c.review(s, site, &body); err != nil {
		return movedOn(err)
	}
	publish, err := s.Client.Sites.Publish(s.ctx(), site.ID, body, s.raw())
	if err != nil || s.output != "table" {
		return s.show(movedOn(err))
	}
	switch {
	case publish.ID == nil:
		return s.done(nil, "Nothing to publish.")
	case publish.Status == "scheduled":
		return s.done(nil, "Scheduled the publish %s of %s for %s.", *publish.ID, printable(site.Name), publish.PublishAt.Local().Format(time.DateTime))
	}
	return s.done(nil, "Published %s to %s: %s.", plural(publish.ChangeCount, "change"), printable(site.Name), *publish.ID)
}

// review shows what a publish would do and asks. What goes live is then exactly what was
// shown: a plan that a person has seen is sent with the publish.
func (c *publishCommand) review(s *Session, site galley.Site, body *galley.PublishCreate) error {
	dry, err := s.Client.Sites.DryRun(s.ctx(), site.ID, galley.PublishCreate{Selection: body.Selection, Plan: c.Plan})
	if err != nil {
		return err
	}
	later, isLater := c.At.Get()
	if dry.ChangeCount == 0 && !isLater {
		return nil
	}
	if c.Plan != "" {
		return nil // reviewed before
	}
	if err := c.showPlan(s, site, body, dry); err != nil {
		return err
	}
	if isLater {
		return s.confirm(c.Yes, "Publish the draft of %s as it is at %s?", printable(site.Name), later.Local().Format(time.DateTime))
	}
	body.Plan = dry.Plan
	if dry.Guard.ConfirmNeeded && !c.Yes {
		body.Confirm = true // that is what the question says
	}
	return s.confirm(c.Yes, "Publish this to %s?", printable(site.Name))
}

// showPlan shows what a publish would do, where it is out of the way of programs that read
// the output.
func (c *publishCommand) showPlan(s *Session, site galley.Site, body *galley.PublishCreate, dry galley.PublishDryRun) error {
	if dry.ChangeCount == 0 {
		return nil
	}
	some, err := changesOf(s, site.ID, body.Selection)(galley.ListOptions{Limit: maxShown})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprint(s.Err, s.diff(some.Data))
	if some.HasMore {
		_, _ = fmt.Fprintln(s.Err, "... See all with 'galley changes'.")
	}
	_, _ = fmt.Fprintln(s.Err, describePlan(dry))
	return nil
}

// maxShown is how many changes a question shows.
const maxShown = 20

// describePlan says in words what a publish would do.
func describePlan(dry galley.PublishDryRun) string {
	lines := []string{summarize(dry.Summary) + "."}
	if dry.RedirectsCreated > 0 {
		lines = append(lines, plural(dry.RedirectsCreated, "redirect")+" will lead from old pathnames to new ones.")
	}
	if dry.Guard.ConfirmNeeded {
		lines = append(lines, fmt.Sprintf("%s (%.0f %% of what is live) will disappear.", plural(dry.Guard.Pages, "page"), 100*dry.Guard.Share))
	}
	for _, clash := range dry.Clashes {
		lines = append(lines, fmt.Sprintf("%s (%s) would belong to several pages: it will be refused.", printable(clash.Pathname), clash.Locale))
	}
	return strings.Join(lines, "\n")
}

// movedOn gives the error of a plan that does not hold any more its exit code.
func movedOn(err error) error {
	failed, ok := errors.AsType[*galley.Error](err)
	if ok && failed.Code == galley.CodeConflict && strings.Contains(failed.Message, "since the plan was made") {
		return &ExitError{ExitMovedOn, failed.Message + ": 'galley changes'"}
	}
	return err
}

type publishesCommand struct {
	List    publishesListCommand    `cmd:"" help:"List the publishes of a site, newest first."`
	Get     publishesGetCommand     `cmd:"" help:"Show a publish."`
	Changes publishesChangesCommand `cmd:"" help:"Show what a publish changed."`
	URLs    publishesURLsCommand    `cmd:"" name:"urls" help:"List the URLs at which a publish changed what visitors get."`
	Restore publishesRestoreCommand `cmd:"" help:"Publish again what was live after a publish."`
	Cancel  publishesCancelCommand  `cmd:"" help:"Cancel a scheduled publish."`
}

type publishesListCommand struct {
	listFlags
	siteFlag

	Scheduled bool `help:"List the scheduled publishes of all sites."`
}

func (c *publishesListCommand) Run(s *Session) error {
	read := func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Publish], error) {
		return s.Client.Publishes.Scheduled(s.ctx(), page, options...)
	}
	if !c.Scheduled {
		id, err := s.SiteID(c.Site)
		if err != nil {
			return err
		}
		read = func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Publish], error) {
			return s.Client.Sites.Publishes(s.ctx(), id, page, options...)
		}
	}
	return list(s, c.listFlags, publishColumns, read)
}

// publishArgument is the publish that a command is about.
type publishArgument struct {
	Publish string `arg:"" help:"The id of the publish."`
}

type publishesGetCommand struct {
	Flags
	publishArgument
}

func (c *publishesGetCommand) Run(s *Session) error {
	_, err := s.Client.Publishes.Get(s.ctx(), c.Publish, s.raw())
	return s.show(err)
}

type publishesChangesCommand struct {
	listFlags
	publishArgument
}

func (c *publishesChangesCommand) Run(s *Session) error {
	read := func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Change], error) {
		return s.Client.Publishes.Changes(s.ctx(), c.Publish, page, options...)
	}
	if s.output != "table" {
		return list(s, c.listFlags, changeColumns, read)
	}
	return s.showChanges(galley.ListOptions{Limit: c.Limit, StartingAfter: c.After}, c.All || c.Limit == 0, read)
}

type publishesURLsCommand struct {
	listFlags
	publishArgument
}

func (c *publishesURLsCommand) Run(s *Session) error {
	return list(s, c.listFlags, urlColumns, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.PublishURL], error) {
		return s.Client.Publishes.URLs(s.ctx(), c.Publish, page, options...)
	})
}

type publishesRestoreCommand struct {
	Flags
	publishArgument
	yesFlag
}

func (c *publishesRestoreCommand) Run(s *Session) error {
	if err := s.confirm(c.Yes, "Publish again what was live after %s?", c.Publish); err != nil {
		return err
	}
	_, err := s.Client.Publishes.Restore(s.ctx(), c.Publish, s.raw())
	return s.show(err)
}

type publishesCancelCommand struct {
	Flags
	publishArgument
	yesFlag
}

func (c *publishesCancelCommand) Run(s *Session) error {
	if err := s.confirm(c.Yes, "Cancel the publish %s?", c.Publish); err != nil {
		return err
	}
	return s.done(s.Client.Publishes.Cancel(s.ctx(), c.Publish), "Canceled the publish %s.", c.Publish)
}
