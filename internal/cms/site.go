package cms

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// SiteKeyAccess is which versions a site's own key may read.
type SiteKeyAccess string

// A Site key reads both versions, or the live one alone.
const (
	AccessDraft SiteKeyAccess = "draft"
	AccessLive  SiteKeyAccess = "live"
)

// LocaleMode is which system manages a site's locales.
type LocaleMode string

// Locales are managed here, or by another system.
const (
	LocalesInternal LocaleMode = "internal"
	LocalesExternal LocaleMode = "external"
)

// SiteKeyAccesses and LocaleModes list all values.
var (
	SiteKeyAccesses = []SiteKeyAccess{AccessLive, AccessDraft}
	LocaleModes     = []LocaleMode{LocalesInternal, LocalesExternal}
)

// DefaultLocaleCode is the default locale of a site that names none.
const DefaultLocaleCode = "en-US"

// Site is one website.
type Site struct {
	ID              ID
	WorkspaceID     ID
	Name            string
	HostOrigin      *string
	PublicAPIKey    ID
	KeyAccess       SiteKeyAccess
	LocaleMode      LocaleMode
	Labels          []string // sorted, each once
	DefaultLocaleID ID
	AutoRedirects   bool // a publish that moves a page leaves a redirect
	// PreviewURLTemplate is the URL of previews, with placeholders.
	PreviewURLTemplate *string
	CreatedAt          time.Time
	UpdatedAt          time.Time
	DeletedAt          *time.Time

	// DefaultLocale is read with the site and not saved with it.
	DefaultLocale Locale
}

// NewSiteKey returns a new public key for a site.
func NewSiteKey() ID { return uuid.New() }

// NewSite is what a site is created from. A path prefix of its default locale can't
// be given yet.
type NewSite struct {
	WorkspaceID Opt[ID]
	SitePatch
}

// Clean normalizes the values and notes what is wrong with them.
func (n *NewSite) Clean(p *Problems) {
	required(p, "name", n.Name)
	n.SitePatch.Clean(p)
}

// SitePatch changes a site.
type SitePatch struct {
	Name                    Opt[string]
	HostOrigin              Opt[*string]
	DefaultLocale           Opt[string]
	DefaultLocalePathPrefix Opt[*string]
	KeyAccess               Opt[SiteKeyAccess]
	LocaleMode              Opt[LocaleMode]
	AutoRedirects           Opt[bool]
	PreviewURLTemplate      Opt[*string]
	Labels                  Opt[[]string]
}

// Clean normalizes the values and notes what is wrong with them.
func (c *SitePatch) Clean(p *Problems) {
	check(p, "name", c.Name, checkName)
	cleanPtr(p, "hostOrigin", &c.HostOrigin, ParseOrigin)
	clean(p, "defaultLocale", &c.DefaultLocale, ParseLocaleCode)
	cleanPtr(p, "defaultLocalePathPrefix", &c.DefaultLocalePathPrefix, ParsePathPrefix)
	check(p, "siteKeyAccess", c.KeyAccess, oneOf(SiteKeyAccesses))
	check(p, "localeManagementMode", c.LocaleMode, oneOf(LocaleModes))
	cleanPtr(p, "previewUrlTemplate", &c.PreviewURLTemplate, ParsePreviewTemplate)
	check(p, "labels", c.Labels, checkLabels)
	if c.Labels.Set {
		c.Labels.Value = slices.Compact(slices.Sorted(slices.Values(c.Labels.Value)))
	}
}

// Apply returns the site as the patch leaves it, its locales aside.
func (c SitePatch) Apply(s Site) Site {
	c.Name.ApplyTo(&s.Name)
	c.HostOrigin.ApplyTo(&s.HostOrigin)
	c.KeyAccess.ApplyTo(&s.KeyAccess)
	c.LocaleMode.ApplyTo(&s.LocaleMode)
	c.AutoRedirects.ApplyTo(&s.AutoRedirects)
	c.PreviewURLTemplate.ApplyTo(&s.PreviewURLTemplate)
	c.Labels.ApplyTo(&s.Labels)
	return s
}

// MaxLabels is how many labels a site can have.
const MaxLabels = 20

func checkLabels(labels []string) error {
	if labels == nil {
		return errors.New("must not be null")
	}
	for i, label := range labels {
		if !IsLabel(label) {
			return fmt.Errorf("item %d must be 1 to 40 of a-z, 0-9 and -", i)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(labels)))) > MaxLabels {
		return fmt.Errorf("must have at most %d labels", MaxLabels)
	}
	return nil
}

// IsLabel reports whether a text has the form of a label.
func IsLabel(s string) bool { return labelForm.MatchString(s) }

var labelForm = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// SiteQuery asks for one page of a list of sites.
type SiteQuery struct {
	ListQuery
	Search  string // in the name; "": all
	Label   string // "": all
	Deleted bool   // the deleted ones instead
}

// Place is where a locale is served: an origin, "" if there is none, and the
// path prefix below it, "" for the root.
type Place struct{ Origin, Prefix string }

// Place returns where a locale of the site is served. Unless it is set, the prefix
// is the root for the default locale and one with a domain, and else the code.
func (s Site) Place(l Locale) Place {
	place := Place{Prefix: l.Code}
	if l.Domain != nil || l.ID == s.DefaultLocaleID {
		place.Prefix = ""
	}
	if l.PathPrefix != nil {
		place.Prefix = *l.PathPrefix
	}
	if l.Domain != nil {
		place.Origin = *l.Domain
	} else if s.HostOrigin != nil {
		place.Origin = *s.HostOrigin
	}
	return place
}

// DuplicateSite asks for a copy of a site.
type DuplicateSite struct {
	Name Opt[string]
}

// Clean notes what is wrong with the values.
func (d *DuplicateSite) Clean(p *Problems) {
	required(p, "name", d.Name)
	check(p, "name", d.Name, checkName)
}

// MaxGrace is the longest time that a rotated key still works.
const MaxGrace = 30 * 24 * time.Hour

// RotateKey asks for a new key; the old one works until the grace ends.
type RotateKey struct {
	GraceSeconds Opt[int]
}

// Clean notes what is wrong with the values.
func (r *RotateKey) Clean(p *Problems) {
	check(p, "graceSeconds", r.GraceSeconds, func(n int) error {
		if n < 0 || n > int(MaxGrace/time.Second) {
			return errors.New("must be between 0 and 2592000")
		}
		return nil
	})
}

// Ends is when the old key stops working.
func (r RotateKey) Ends(now time.Time) time.Time {
	return now.Add(time.Duration(r.GraceSeconds.Value) * time.Second)
}

// oneOf is the rule that a value is one of those listed.
func oneOf[T ~string](values []T) func(T) error {
	return func(v T) error {
		if slices.Contains(values, v) {
			return nil
		}
		list := strings.Trim(fmt.Sprint(values), "[]")
		return errors.New("must be one of " + strings.ReplaceAll(list, " ", ", "))
	}
}

// inFuture is the rule that a time, if it is given, is after now.
func inFuture(now time.Time) func(*time.Time) error {
	return func(t *time.Time) error {
		if t != nil && !t.After(now) {
			return errors.New("must be in the future")
		}
		return nil
	}
}
