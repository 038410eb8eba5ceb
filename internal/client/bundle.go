package client

import (
	"errors"
	"fmt"
	"strings"

	"github.com/schollz/progressbar/v3"

	"galley/internal/bundle"
	galley "galley/sdk/go"
)

type exportCommand struct {
	siteArgument

	Dir string `arg:"" help:"The folder to write. Files of pages that are gone are removed from it."`
	IDs bool   `name:"ids" help:"Write ids, by which 'galley apply' finds what was renamed."`
}

func (c *exportCommand) Run(s *Session) error {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	progress, done := s.steps()
	result, err := bundle.Export{Client: s.Client, SiteID: id, Dir: c.Dir, IDs: c.IDs, Progress: progress}.Run(s.ctx())
	done()
	if err != nil {
		return err
	}
	if c.Output != "table" {
		return s.showValue(result)
	}
	return s.print(fmt.Sprintf("Exported %s to %s: %s written, %s removed.\n", plural(result.Pages, "page"), c.Dir, plural(result.Written, "file"), plural(result.Removed, "file")))
}

// bundleFlags name a bundle and the site that it is compared with.
type bundleFlags struct {
	Flags

	Dir  string `arg:"" help:"The folder that 'galley export' wrote."`
	Site string `help:"The site: its id, name, origin or label." required:"" placeholder:"SITE"`
}

func (c *bundleFlags) plan(s *Session) (*bundle.Plan, error) {
	id, err := s.SiteID(c.Site)
	if err != nil {
		return nil, err
	}
	progress, done := s.steps()
	plan, err := bundle.NewPlan(s.ctx(), s.Client, id, c.Dir, progress)
	done()
	return plan, bundleError(err)
}

type planCommand struct{ bundleFlags }

func (c *planCommand) Run(s *Session) error {
	plan, err := c.plan(s)
	if err != nil {
		return err
	}
	if c.Output != "table" {
		return s.showValue(plan)
	}
	return s.showPlan(plan)
}

type applyCommand struct {
	bundleFlags

	Publish bool `help:"Publish the site then, unless others have changed it."`
	Yes     bool `help:"Do not ask, also if something is deleted." short:"y"`
	Confirm bool `help:"Publish also if much of what is live goes offline or is deleted."`
}

func (c *applyCommand) Run(s *Session) error {
	plan, err := c.plan(s)
	if err != nil {
		return err
	}
	result := struct {
		Plan    *bundle.Plan    `json:"plan"`
		Publish *galley.Publish `json:"publish"`
	}{Plan: plan}
	if c.Output == "table" {
		if err := s.showPlan(plan); err != nil {
			return err
		}
	}
	if err := c.ask(s, plan); err != nil {
		return err
	}
	progress, done := s.steps()
	err = plan.Apply(s.ctx(), progress)
	done()
	if err != nil {
		return bundleError(err)
	}
	if c.Output == "table" && len(plan.Changes) > 0 {
		if err := s.print(fmt.Sprintf("Applied %s.\n", plural(len(plan.Changes), "change"))); err != nil {
			return err
		}
	}
	if c.Publish {
		publish, err := plan.Publish(s.ctx(), c.Confirm)
		if err != nil {
			return bundleError(err)
		}
		if result.Publish = &publish; c.Output == "table" {
			return s.print(fmt.Sprintf("Published %s.\n", plural(publish.ChangeCount, "change")))
		}
	}
	if c.Output == "table" {
		return nil
	}
	return s.showValue(result)
}

// ask asks a person before anything is changed, and wants --yes of a program before
// anything is deleted.
func (c *applyCommand) ask(s *Session, plan *bundle.Plan) error {
	deletes := plan.Summary[bundle.Delete]
	switch {
	case len(plan.Changes) == 0:
		return nil
	case deletes > 0:
		return s.confirm(c.Yes, "Apply %s, of which %s?", plural(len(plan.Changes), "change"), plural(deletes, "deletion"))
	case isTerminal(s.In) && isTerminal(s.Err):
		return s.confirm(c.Yes, "Apply %s?", plural(len(plan.Changes), "change"))
	}
	return nil
}

// showPlan prints a plan as a table that has a line for each field.
func (s *Session) showPlan(plan *bundle.Plan) error {
	if len(plan.Changes) == 0 {
		return s.print("Nothing to do: the site is what the bundle has.\n")
	}
	type row struct {
		Action string `json:"action"`
		Kind   string `json:"kind"`
		Name   string `json:"name"`
		Field  any    `json:"field"`
		Old    any    `json:"old"`
		New    any    `json:"new"`
	}
	var rows []row
	for _, c := range plan.Changes {
		name := c.Name
		if c.Locale != "" {
			name += " (" + c.Locale + ")"
		}
		if c.Previous != "" {
			name = c.Previous + " → " + name
		}
		if len(c.Fields) == 0 {
			rows = append(rows, row{Action: c.Action, Kind: c.Kind, Name: name})
		}
		for _, f := range c.Fields {
			line := row{Action: c.Action, Kind: c.Kind, Name: name, Field: f.Field, Old: value(f.From), New: value(f.To)}
			if f.Locale != "" {
				line.Field = f.Locale + " " + f.Field
			}
			rows = append(rows, line)
		}
	}
	text, err := encodeJSON(map[string]any{"data": rows})
	if err != nil {
		return err
	}
	if err := s.ShowList(text, "action", "kind", "name", "field", "old", "new"); err != nil {
		return err
	}
	var words []string
	for _, action := range []string{bundle.Create, bundle.Alter, bundle.Move, bundle.Delete} {
		if n := plan.Summary[action]; n > 0 {
			words = append(words, fmt.Sprintf("%d to %s", n, action))
		}
	}
	return s.print("\n" + strings.Join(words, ", ") + ".\n")
}

func value(v *any) any {
	if v == nil {
		return nil
	}
	return *v
}

// showValue prints a value as the interface would send it.
func (s *Session) showValue(v any) error {
	text, err := encodeJSON(v)
	if err != nil {
		return err
	}
	return s.Show(text)
}

// bundleError gives the errors of bundles their exit codes.
func bundleError(err error) error {
	var problems bundle.Problems
	var refusal *bundle.Refusal
	switch {
	case errors.Is(err, bundle.ErrMovedOn):
		return &ExitError{ExitMovedOn, err.Error()}
	case errors.As(err, &problems):
		return &ExitError{ExitRefused, fmt.Sprintf("the bundle has %s; nothing was done:\n%s", plural(len(problems), "problem"), problems.Error())}
	case errors.Is(err, bundle.ErrConfirm):
		return &ExitError{ExitRefused, err.Error() + "; confirm it with --confirm"}
	case errors.As(err, &refusal):
		return &ExitError{ExitRefused, "the server refuses a part of the plan; what was done before stays, and you can apply again:\n" + refusal.Error()}
	}
	return err
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// steps returns a progress bar for work in several steps, and what ends it.
func (s *Session) steps() (bundle.Progress, func()) {
	var bar *progressbar.ProgressBar
	current := ""
	done := func() {
		if bar != nil {
			_ = bar.Finish() // errors of the progress bar do not matter
		}
	}
	return func(step string, n, total int) {
		if step != current {
			done()
			bar, current = s.bar(step, total), step
		}
		bar.ChangeMax(total)
		_ = bar.Set(n)
	}, done
}
