package cms

import (
	"errors"
	"net/url"
	"strings"
	"time"
)

// DefaultPreview is how long a preview works unless another time is given, and
// MaxPreview the longest time.
const (
	DefaultPreview = 5 * 24 * time.Hour
	MaxPreview     = 90 * 24 * time.Hour
)

// Preview is a credential that reads one version of a site, at and below a
// pathname, for some time.
type Preview struct {
	ID         ID
	SiteID     ID
	Name       *string
	PublishID  ID     // the version that this publish left; NoID: the draft
	LocaleID   ID     // in which it reads unless a request names another; NoID: the default one
	PathPrefix string // "/": the whole site
	CreatedAt  time.Time
	CreatedBy  ID
	ExpiresAt  time.Time
	LastUsedAt *time.Time
	DeletedAt  *time.Time
}

// Covers reports whether a pathname is at or below the prefix of the preview.
func (p Preview) Covers(pathname string) bool {
	return p.PathPrefix == "/" || pathname == p.PathPrefix || strings.HasPrefix(pathname, p.PathPrefix+"/")
}

// Within returns the letters that pathnames begin with and the pathname at or below
// which they are, for a list of those that begin with asked and that the preview
// covers. ok is false if there can't be any.
func (p Preview) Within(asked string) (prefix, under string, ok bool) {
	if p.PathPrefix == "/" || strings.HasPrefix(asked, p.PathPrefix+"/") {
		return asked, "", true
	}
	return "/", p.PathPrefix, strings.HasPrefix(p.PathPrefix+"/", asked)
}

// NewPreview is what a preview is created from.
type NewPreview struct {
	SiteID           Opt[ID]
	Name             Opt[*string]
	VersionRef       Opt[string]
	Locale           Opt[*string] // id or code
	PathPrefix       Opt[string]
	ExpiresInSeconds Opt[int]

	PublishID ID // that VersionRef names; NoID: the draft
}

// Clean normalizes the values and notes what is wrong with them.
func (n *NewPreview) Clean(p *Problems) {
	required(p, "siteId", n.SiteID)
	cleanPtr(p, "name", &n.Name, func(s string) (string, error) { return s, checkName(s) })
	check(p, "versionRef", n.VersionRef, func(ref string) (err error) {
		n.PublishID, err = parsePreviewVersion(ref)
		return err
	})
	cleanPtr(p, "locale", &n.Locale, func(s string) (string, error) {
		if !LocaleRefForm(s) {
			return s, errors.New("must be a locale code or id")
		}
		return s, nil
	})
	clean(p, "pathPrefix", &n.PathPrefix, ParsePathname)
	check(p, "expiresInSeconds", n.ExpiresInSeconds, func(seconds int) error {
		if seconds < 1 || seconds > int(MaxPreview/time.Second) {
			return errors.New("must be between 1 and 7776000")
		}
		return nil
	})
}

// Ends is when the preview stops working. Unless a time is given, that is not after
// limit, if there is one.
func (n NewPreview) Ends(now time.Time, limit *time.Time) time.Time {
	if n.ExpiresInSeconds.Set {
		return now.Add(time.Duration(n.ExpiresInSeconds.Value) * time.Second)
	}
	end := now.Add(DefaultPreview)
	if limit != nil && limit.Before(end) {
		return *limit
	}
	return end
}

// parsePreviewVersion reads the version of a preview.
func parsePreviewVersion(ref string) (ID, error) {
	if ref == "ref:draft" {
		return NoID, nil
	}
	text, ok := strings.CutPrefix(ref, "publish:")
	id, isID := ParseID(text)
	if !ok || !isID {
		return NoID, errors.New("must be ref:draft, or publish: and the id of a publish")
	}
	return id, nil
}

// FillPreviewTemplate returns the URL of a preview. Values are percent-encoded, so
// that they can be in the path, the query or the fragment.
func FillPreviewTemplate(template, pathname, locale, token string) string {
	segments := strings.Split(pathname, "/")
	for i, segment := range segments {
		segments[i] = escapeValue(segment)
	}
	return strings.NewReplacer(
		"{pathname}", strings.Join(segments, "/"), "{locale}", escapeValue(locale), "{token}", escapeValue(token),
	).Replace(template)
}

// escapeValue percent-encodes all but unreserved characters.
func escapeValue(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// ParsePreviewTemplate reads the template of the URLs of previews.
func ParsePreviewTemplate(s string) (string, error) {
	const token = "token" + previewPrefix
	filled := FillPreviewTemplate(s, "/", DefaultLocaleCode, token)
	if strings.ContainsAny(filled, "{}") {
		return "", errors.New("must not have braces but those of {pathname}, {locale} and {token}")
	}
	if _, err := ParseURL(filled); err != nil {
		return "", err
	}
	if u, err := url.Parse(filled); err != nil || strings.Contains(u.User.String()+u.Host, token) {
		return "", errors.New("must not have the token in its host")
	}
	return s, checkText(s)
}
