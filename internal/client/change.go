package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	galley "galley/sdk/go"
)

var changeColumns = []string{"kind", "pathname", "locale", "previousPathname", "fields"}

// selectionFlags select a part of a draft.
type selectionFlags struct {
	Page     []string `help:"Only these pages: pathnames or ids, separated by commas." placeholder:"PAGES"`
	Redirect []string `help:"Only the redirects with these ids." placeholder:"IDS"`
	Locale   []string `help:"Only the values of these locales." placeholder:"CODES"`
}

// selection returns what the flags select.
func (f selectionFlags) selection(s *Session, siteID string) (galley.Selection, error) {
	selection := galley.Selection{Locales: f.Locale}
	if f.Redirect != nil {
		selection.RedirectIDs = galley.Value(f.Redirect)
	}
	var pages []string
	for _, page := range f.Page {
		id, err := s.pageID(siteFlag{siteID}, page)
		if err != nil {
			return selection, err
		}
		pages = append(pages, id)
	}
	if pages != nil {
		selection.PageIDs = galley.Value(pages)
	}
	return selection, nil
}

type changesCommand struct {
	listFlags
	selectionFlags

	Site string `arg:"" help:"The site: its id, name, origin or label."`
}

func (c *changesCommand) Run(s *Session) error {
	site, err := s.SiteID(c.Site)
	if err != nil {
		return err
	}
	selection, err := c.selection(s, site)
	if err != nil {
		return err
	}
	read := changesOf(s, site, selection)
	if s.output != "table" {
		return list(s, c.listFlags, changeColumns, read)
	}
	return s.showChanges(galley.ListOptions{Limit: c.Limit, StartingAfter: c.After}, c.All || c.Limit == 0, read)
}

// changesOf reads what a publish of a selection would change.
func changesOf(s *Session, site string, selection galley.Selection) func(galley.ListOptions, ...galley.RequestOption) (galley.List[galley.Change], error) {
	pages, _ := selection.PageIDs.Get()
	redirects, _ := selection.RedirectIDs.Get()
	return func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.Change], error) {
		query := galley.ChangeQuery{ListOptions: page, PageIDs: pages, RedirectIDs: redirects, Locales: selection.Locales}
		review, err := s.Client.Sites.Changes(s.ctx(), site, query, options...)
		return review.List, err
	}
}

// showChanges prints changes as a diff, with their summary and plan.
func (s *Session) showChanges(page galley.ListOptions, all bool, read func(galley.ListOptions, ...galley.RequestOption) (galley.List[galley.Change], error)) error {
	if all {
		text, err := readAll(s, page, read)
		if err != nil {
			return err
		}
		s.body = text
	} else if _, err := read(page, s.raw()); err != nil {
		return err
	}
	var review galley.Review
	if err := json.Unmarshal(s.body, &review); err != nil {
		return err
	}
	text := s.diff(review.Data)
	if review.Plan != "" { // the changes of a publish have none
		text += summarize(review.Summary) + ".\n"
	}
	if review.Summary.Total > 0 {
		text += "Plan: " + review.Plan + "\n"
	}
	return s.print(text)
}

// summarize counts changes in words.
func summarize(summary galley.Summary) string {
	if summary.Total == 0 {
		return "Nothing to publish"
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(summary.ByKind)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", summary.ByKind[kind], kind))
	}
	return fmt.Sprintf("%s: %s", plural(summary.Total, "change"), strings.Join(kinds, ", "))
}

// plural counts things.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// diff returns changes as text: a line for each page or redirect, and one for each field.
func (s *Session) diff(changes []galley.Change) string {
	var b strings.Builder
	for _, change := range changes {
		title := printable(change.Pathname)
		if change.PreviousPathname != nil && *change.PreviousPathname != change.Pathname {
			title = printable(*change.PreviousPathname) + " -> " + title
		}
		if change.Locale != nil {
			title += " (" + *change.Locale + ")"
		}
		b.WriteString(s.diffLine(change.Kind, title+"  "+change.Kind))
		for _, f := range change.Fields {
			from, to := s.color(red, valueText(f.From)), s.color(green, valueText(f.To))
			switch {
			case sign(change.Kind) == "-":
				continue
			case sign(change.Kind) == "+" && string(f.To) == "null":
				continue
			case sign(change.Kind) == "+":
				fmt.Fprintf(&b, "    %s: %s\n", f.Field, to)
			default:
				fmt.Fprintf(&b, "    %s: %s -> %s\n", f.Field, from, to)
			}
		}
	}
	return b.String()
}

// maxValue is how much of a value a diff shows.
const maxValue = 60

func valueText(value json.RawMessage) string {
	text := string(value)
	if strings.HasPrefix(text, `"sha256-`) {
		return cut(text, len(`"sha256-`)+8) // a content
	}
	if strings.HasPrefix(text, `"`) {
		var plain string
		if json.Unmarshal(value, &plain) == nil {
			text = `"` + strings.Trim(printable(plain), `"`) + `"`
		}
	}
	return cut(text, maxValue)
}

// sign tells what a change does to a page or a value.
func sign(kind string) string {
	switch kind {
	case "created", "redirectCreated", "add":
		return "+"
	case "deleted", "redirectDeleted", "remove", "takenOffline":
		return "-"
	}
	return "~"
}

// Colors of a terminal.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (s *Session) color(color, text string) string {
	if !s.colors() {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// diffLine returns a line with the sign of a change, in its color.
func (s *Session) diffLine(kind, text string) string {
	color := map[string]string{"+": green, "-": red, "~": yellow}[sign(kind)]
	return s.color(color, sign(kind)+" "+text) + "\n"
}
