package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/schollz/progressbar/v3"

	"galley/internal/bundle"
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
	return s.done(nil, "Exported %s to %s: %s written, %s removed.", plural(result.Pages, "page"), c.Dir, plural(result.Written, "file"), plural(result.Removed, "file"))
}

// bundleFlags name a bundle and the site that it is compared with.
type bundleFlags struct {
	Flags
	siteFlag

	Dir string `arg:"" help:"The folder that 'galley export' wrote."`
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
	yesFlag

	Publish bool `help:"Publish the site then, unless others have changed it meanwhile."`
	Confirm bool `help:"Publish even if many live pages disappear."`
}

func (c *applyCommand) Run(s *Session) error {
	plan, err := c.plan(s)
	if err != nil {
		return err
	}
	result := struct {
		Plan    *bundle.Plan    `json:"plan"`
		Publish json.RawMessage `json:"publish"`
	}{Plan: plan}
	if c.Output == "table" {
		if err := s.showPlan(plan); err != nil {
			return err
		}
	}
	if err := c.ask(s, plan); err != nil {
		return err
	}
	changes := len(plan.Changes)
	progress, done := s.steps()
	err = plan.Apply(s.ctx(), c.Publish, progress)
	done()
	if err != nil {
		return bundleError(err)
	}
	if changes > 0 {
		if err := s.done(nil, "Applied %s.", plural(changes, "change")); err != nil {
			return err
		}
	}
	if c.Publish {
		publish, err := plan.Publish(s.ctx(), c.Confirm, s.raw())
		if err != nil {
			return bundleError(err)
		}
		result.Publish = s.body
		message := "Nothing to publish."
		if publish.ID != nil {
			message = fmt.Sprintf("Published %s: %s.", plural(publish.ChangeCount, "change"), *publish.ID)
		}
		if err := s.done(nil, "%s", message); err != nil {
			return err
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

// showPlan prints a plan as a diff: a line for each thing, and one for each field.
func (s *Session) showPlan(plan *bundle.Plan) error {
	if len(plan.Changes) == 0 {
		return s.print("Nothing to do: the site is what the bundle has.\n")
	}
	var b strings.Builder
	for _, c := range plan.Changes {
		title := c.Kind + " " + printable(c.Name)
		if c.Previous != "" {
			title = c.Kind + " " + printable(c.Previous) + " -> " + printable(c.Name)
		}
		if c.Locale != "" {
			title += " (" + c.Locale + ")"
		}
		b.WriteString(s.diffLine(planSigns[c.Action], title))
		for _, f := range c.Fields {
			name, from, to := f.Field, s.color(red, fieldText(f.From)), s.color(green, fieldText(f.To))
			if f.Locale != "" {
				name = f.Locale + " " + name
			}
			if c.Action == bundle.Create {
				fmt.Fprintf(&b, "    %s: %s\n", name, to)
				continue
			}
			fmt.Fprintf(&b, "    %s: %s -> %s\n", name, from, to)
		}
	}
	var words []string
	for _, action := range []string{bundle.Create, bundle.Alter, bundle.Move, bundle.Delete} {
		if n := plan.Summary[action]; n > 0 {
			words = append(words, fmt.Sprintf("%d to %s", n, action))
		}
	}
	fmt.Fprintf(&b, "\n%s: %s.\n", plural(len(plan.Changes), "change"), strings.Join(words, ", "))
	return s.print(b.String())
}

// planSigns are the kinds of changes whose signs lines of a plan have.
var planSigns = map[string]string{bundle.Create: "add", bundle.Delete: "remove"}

// fieldText returns a value of a plan. A locale without one inherits it.
func fieldText(v *any) string {
	if v == nil {
		return "inherited"
	}
	text, err := encodeJSON(*v)
	if err != nil {
		return err.Error()
	}
	return valueText(bytes.TrimSpace(text))
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
	var invalid *bundle.InvalidError
	var refused *bundle.RefusedError
	switch {
	case errors.Is(err, bundle.ErrMovedOn):
		return &ExitError{ExitMovedOn, err.Error()}
	case errors.As(err, &invalid):
		return &ExitError{ExitRefused, fmt.Sprintf("the bundle has %s; nothing was done:\n%s", plural(len(invalid.Problems), "problem"), invalid.Error())}
	case errors.Is(err, bundle.ErrConfirm):
		return &ExitError{ExitRefused, err.Error() + "; confirm it with --confirm"}
	case errors.As(err, &refused):
		return &ExitError{ExitRefused, "the server refuses a part of the plan; what was done before stays, and you can apply again:\n" + refused.Error()}
	}
	return err
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
