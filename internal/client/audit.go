package client

import galley "galley/sdk/go"

var auditColumns = []string{"at", "operation", "resource=resource.id", "app=appName", "actor"}

type auditCommand struct {
	List auditListCommand `cmd:"" default:"withargs" help:"List what was written, newest first (the default)."`
}

type auditListCommand struct {
	listFlags

	Site      string   `help:"Only what was written in this site." short:"s" placeholder:"SITE"`
	Resource  string   `help:"Only what was written to the resource with this id." placeholder:"ID"`
	App       string   `help:"Only what the app with this id wrote." placeholder:"ID"`
	Operation string   `help:"Only this operation, such as page.update." placeholder:"OPERATION"`
	Since     timeFlag `help:"Only what was written at or after this time." placeholder:"TIME"`
	Until     timeFlag `help:"Only what was written before this time." placeholder:"TIME"`
}

func (c *auditListCommand) Run(s *Session) error {
	id, err := s.anySite(c.Site)
	if err != nil {
		return err
	}
	return list(s, c.listFlags, auditColumns, func(page galley.ListOptions, options ...galley.RequestOption) (galley.List[galley.AuditEntry], error) {
		return s.Client.Audit.List(s.ctx(), galley.AuditQuery{
			ListOptions: page, SiteID: id, ResourceID: c.Resource, AppID: c.App, Operation: c.Operation, Since: c.Since.Time, Until: c.Until.Time,
		}, options...)
	})
}

// anySite is SiteID for commands that are about all sites if none is named.
func (s *Session) anySite(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	return s.SiteID(name)
}
