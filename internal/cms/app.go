package cms

import (
	"bytes"
	"errors"
	"slices"
	"time"
)

// Scope is a right that an app has throughout its sites.
type Scope string

// The scopes. Admin covers apps, the workspace and the audit trail; operator
// covers the metrics and profiles of the whole installation.
const (
	ScopeRead     Scope = "read"
	ScopeWrite    Scope = "write"
	ScopePublish  Scope = "publish"
	ScopeAdmin    Scope = "admin"
	ScopeOperator Scope = "operator"
)

// Scopes lists every scope, in the order of responses.
var Scopes = []Scope{ScopeRead, ScopeWrite, ScopePublish, ScopeAdmin, ScopeOperator}

// MaxAppSites is the largest number of sites that an app can be restricted to.
const MaxAppSites = 1000

// Workspace owns sites and apps; nothing is shared between workspaces.
type Workspace struct {
	ID        ID
	Name      string
	Quota     Quota
	CreatedAt time.Time
}

// CheckWorkspaceName notes what is wrong with a workspace's name.
func CheckWorkspaceName(p *Problems, name string) { check(p, "workspace", Some(name), checkName) }

// App is a program that uses the interface with a key of its own.
type App struct {
	ID          ID
	WorkspaceID ID
	Name        string
	Description *string
	KeyHint     string
	Scopes      []Scope
	SiteIDs     []ID   // nil: every site of the workspace
	Rate        string // REQUESTS/SECONDS or off, set by the operator; "": the configured one
	MadeBy      ID     // the first of the apps that created it, whose rate it shares; NoID: none
	MakerRate   string // Rate of MadeBy; only AppByKey fills it in
	Quota       Quota  // of the workspace; only AppByKey fills it in
	CreatedAt   time.Time
	LastUsedAt  *time.Time
	ExpiresAt   *time.Time
	DeletedAt   *time.Time
}

// Has reports whether the app has a scope.
func (a App) Has(s Scope) bool { return slices.Contains(a.Scopes, s) }

// Reaches reports whether the app has access to a site of its workspace.
func (a App) Reaches(siteID ID) bool {
	return a.SiteIDs == nil || slices.Contains(a.SiteIDs, siteID)
}

// Covers reports whether the app has every right of another one, for at least as
// long, so that it may create, change or revoke it.
func (a App) Covers(o App) bool {
	for _, s := range o.Scopes {
		if !a.Has(s) {
			return false
		}
	}
	if a.ExpiresAt != nil && (o.ExpiresAt == nil || o.ExpiresAt.After(*a.ExpiresAt)) {
		return false
	}
	if a.SiteIDs == nil {
		return true
	}
	return o.SiteIDs != nil && !slices.ContainsFunc(o.SiteIDs, func(id ID) bool { return !a.Reaches(id) })
}

// AppPatch changes an app, and is what one is created from.
type AppPatch struct {
	Name        Opt[string]
	Description Opt[*string]
	Scopes      Opt[[]Scope]
	SiteIDs     Opt[[]ID]
	ExpiresAt   Opt[*time.Time]
}

// Clean normalizes the values and notes what is wrong with them.
func (c *AppPatch) Clean(p *Problems, now time.Time) {
	check(p, "name", c.Name, checkName)
	cleanPtr(p, "description", &c.Description, textRule)
	check(p, "scopes", c.Scopes, checkScopes)
	check(p, "siteIds", c.SiteIDs, checkSiteIDs)
	check(p, "expiresAt", c.ExpiresAt, inFuture(now))
	if c.Scopes.Set {
		c.Scopes.Value = sortScopes(c.Scopes.Value)
	}
	if c.SiteIDs.Set && c.SiteIDs.Value != nil {
		c.SiteIDs.Value = SortIDs(c.SiteIDs.Value)
	}
}

// CleanNew is Clean for a new app.
func (c *AppPatch) CleanNew(p *Problems, now time.Time) {
	required(p, "name", c.Name)
	c.Clean(p, now)
}

// Apply returns the app as the patch leaves it.
func (c AppPatch) Apply(a App) App {
	c.Name.ApplyTo(&a.Name)
	c.Description.ApplyTo(&a.Description)
	c.Scopes.ApplyTo(&a.Scopes)
	c.SiteIDs.ApplyTo(&a.SiteIDs)
	c.ExpiresAt.ApplyTo(&a.ExpiresAt)
	return a
}

func checkScopes(scopes []Scope) error {
	if len(scopes) == 0 {
		return errors.New("must have at least one scope")
	}
	for _, s := range scopes {
		if err := oneOf(Scopes)(s); err != nil {
			return err
		}
	}
	return nil
}

func checkSiteIDs(ids []ID) error {
	if ids != nil && len(ids) == 0 {
		return errors.New("must name at least one site, or be null for all")
	}
	if len(ids) > MaxAppSites {
		return errors.New("must name at most 1,000 sites")
	}
	return nil
}

// sortScopes removes duplicates and sorts scopes as Scopes does.
func sortScopes(scopes []Scope) []Scope {
	var sorted []Scope
	for _, s := range Scopes {
		if slices.Contains(scopes, s) {
			sorted = append(sorted, s)
		}
	}
	return sorted
}

// SortIDs returns sorted ids without duplicates.
func SortIDs(ids []ID) []ID {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, CompareIDs)
	return slices.Compact(ids)
}

// CompareIDs orders ids as the store does.
func CompareIDs(a, b ID) int { return bytes.Compare(a[:], b[:]) }
