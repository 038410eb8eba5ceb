package client

import (
	"strconv"

	galley "galley/sdk/go"
)

type resolveCommand struct {
	Flags
	versionFlag

	URL     string `arg:"" help:"URL that a visitor opens, or a path with --site."`
	Site    string `help:"The site: its id, name, origin or label." short:"s" placeholder:"SITE"`
	Content bool   `help:"Include the content of the page, in JSON and YAML."`
}

func (c *resolveCommand) Run(s *Session) error {
	site, err := s.anySite(c.Site)
	if err != nil {
		return err
	}
	query := galley.ResolveQuery{URL: c.URL, SiteID: site, VersionRef: c.Version}
	if c.Content {
		query.Include = "content"
	}
	found, err := s.Client.Resolve(s.ctx(), query, s.raw())
	if err != nil || s.output != "table" {
		return s.show(err)
	}
	rows := [][]string{{"KIND", found.Kind}, {"SITE", found.SiteID}, {"LOCALE", orDash(found.Locale)}, {"URL", orDash(found.URL)}}
	switch {
	case found.Page != nil:
		rows = append(rows, []string{"PAGE", found.Page.ID}, []string{"PATHNAME", printable(found.Page.Pathname)}, []string{"TITLE", orDash(found.Page.Title)})
	case found.Redirect != nil:
		rows = append(rows, []string{"REDIRECT", found.Redirect.ID}, []string{"STATUS", strconv.Itoa(found.Redirect.Status)}, []string{"TARGET", printable(found.Redirect.Target)})
	case found.Route != nil:
		rows = append(rows, []string{"ROUTE", found.Route.ID}, []string{"PATHNAME", printable(found.Route.Pathname)})
	}
	for _, alternate := range found.Alternates {
		rows = append(rows, []string{"ALTERNATE", alternate.Locale + " " + alternate.URL})
	}
	for _, step := range found.Steps {
		rows = append(rows, []string{"STEP", step.Rule + ": " + printable(step.Detail)})
	}
	return s.print(layOut(rows, 0))
}

// orDash shows a value that may be missing.
func orDash(text *string) string {
	if text == nil {
		return "-"
	}
	return printable(*text)
}
