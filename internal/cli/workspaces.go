package cli

import (
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"

	"galley/internal/cms"
	"galley/internal/config"
	"galley/internal/service"
)

type workspacesCommand struct {
	List  workspacesListCommand  `cmd:"" help:"List the workspaces with their limits."`
	Limit workspacesLimitCommand `cmd:"" help:"Limit the sites, pages and content of a workspace."`
}

type workspacesListCommand struct{ config.Store }

func (c *workspacesListCommand) Run(t *terminal) error {
	return withService(t, c.Store, false, func(svc *service.Service) error {
		workspaces, err := svc.OperatorWorkspaces(t.ctx)
		if err != nil {
			return err
		}
		return printWorkspaces(t, workspaces...)
	})
}

func printWorkspaces(t *terminal, workspaces ...service.WorkspaceUsage) error {
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "WORKSPACE\tSITES\tPAGES\tCONTENT BYTES\tNAME")
	for _, w := range workspaces {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", w.ID, share(w.Used.Sites, w.Quota.Sites), share(w.Used.Pages, w.Quota.Pages),
			share(w.Used.ContentBytes, w.Quota.ContentBytes), printable(w.Name))
	}
	return table.Flush()
}

// share is how much of a limit is used.
func share(used int, limit *int) string {
	if limit == nil {
		return "no limit"
	}
	return fmt.Sprintf("%d of %d", used, *limit)
}

type workspacesLimitCommand struct {
	config.Store

	ID           string `arg:"" help:"The workspace's id; 'galley workspaces list' shows it."`
	Sites        *limit `help:"Most sites; none for no limit." placeholder:"N"`
	Pages        *limit `help:"Most pages of all sites together; none for no limit." placeholder:"N"`
	ContentBytes *limit `help:"Most bytes of content; none for no limit." placeholder:"N"`
}

// limit is a number, or none.
type limit struct{ most *int }

// UnmarshalText reads a limit.
func (l *limit) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 {
		return fmt.Errorf("%q is no limit: give a number from 0 on, or none", text)
	}
	l.most = &n
	return nil
}

func (c *workspacesLimitCommand) Run(t *terminal) error {
	id, ok := cms.ParseID(c.ID)
	switch {
	case !ok:
		return fmt.Errorf("%q is not a workspace's id", c.ID)
	case c.Sites == nil && c.Pages == nil && c.ContentBytes == nil:
		return errors.New("give --sites, --pages or --content-bytes")
	}
	return withService(t, c.Store, false, func(svc *service.Service) error {
		set, err := svc.SetQuota(t.ctx, id, func(q *cms.Quota) {
			if c.Sites != nil {
				q.Sites = c.Sites.most
			}
			if c.Pages != nil {
				q.Pages = c.Pages.most
			}
			if c.ContentBytes != nil {
				q.ContentBytes = c.ContentBytes.most
			}
		})
		if err != nil {
			return err
		}
		return printWorkspaces(t, set)
	})
}
