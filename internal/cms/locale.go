package cms

import (
	"errors"
	"regexp"
	"time"

	"golang.org/x/text/language"
)

// Locale is a language of a site, optionally of a region.
type Locale struct {
	ID         ID
	SiteID     ID
	Code       string
	Domain     *string
	PathPrefix *string
	CreatedAt  time.Time
	DeletedAt  *time.Time
}

var (
	localeForm = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z]{2})?$`)
	// Codes for no language in particular, and for private use.
	namesNone = regexp.MustCompile(`^(und|mul|mis|zxx|q[a-t][a-z])$`)
	// Bibliographic codes, for languages that have another code on the web.
	forLibraries = regexp.MustCompile(`^(alb|arm|baq|bur|chi|cze|dut|fre|geo|ger|gre|ice|mac|mao|may|per|rum|slo|tib|wel)$`)
	errLocale    = errors.New("must be a language code, optionally with a region, such as en or en-US")
)

// LocaleRefForm reports whether s has the form of a locale's id or code.
func LocaleRefForm(s string) bool {
	_, ok := ParseID(s)
	return ok || localeForm.MatchString(s)
}

// ParseLocaleCode reads a locale code in any letter case and returns its
// canonical form, which for a code that was replaced is the one that replaced it.
func ParseLocaleCode(s string) (string, error) {
	if !localeForm.MatchString(s) {
		return "", errLocale
	}
	tag, err := language.DeprecatedBase.Parse(s)
	if err != nil {
		return "", errLocale
	}
	base, _, region := tag.Raw()
	if namesNone.MatchString(base.String()) || forLibraries.MatchString(base.String()) || (len(s) > 3 && (!region.IsCountry() || region.Canonicalize() != region || region.String() == "UN")) {
		return "", errLocale
	}
	return tag.String(), nil
}

// NewLocale is what a locale is created from.
type NewLocale struct {
	SiteID Opt[ID]
	LocalePatch
}

// Clean normalizes the values and notes what is wrong with them.
func (n *NewLocale) Clean(p *Problems) {
	required(p, "siteId", n.SiteID)
	required(p, "locale", n.Code)
	n.LocalePatch.Clean(p)
}

// LocalePatch changes a locale.
type LocalePatch struct {
	Code       Opt[string]
	Domain     Opt[*string]
	PathPrefix Opt[*string]
}

// Clean normalizes the values and notes what is wrong with them.
func (c *LocalePatch) Clean(p *Problems) {
	clean(p, "locale", &c.Code, ParseLocaleCode)
	cleanPtr(p, "domain", &c.Domain, ParseOrigin)
	cleanPtr(p, "pathPrefix", &c.PathPrefix, ParsePathPrefix)
}

// Apply returns the locale as the patch leaves it.
func (c LocalePatch) Apply(l Locale) Locale {
	c.Code.ApplyTo(&l.Code)
	c.Domain.ApplyTo(&l.Domain)
	c.PathPrefix.ApplyTo(&l.PathPrefix)
	return l
}

// Locales are all locales of one site, deleted ones included, oldest first.
type Locales []Locale

// ByID finds a locale, deleted or not.
func (ls Locales) ByID(id ID) (Locale, bool) {
	for _, l := range ls {
		if l.ID == id {
			return l, true
		}
	}
	return Locale{}, false
}

// Shows reports whether a locale exists. NoID, which is every locale or the default
// one, always does.
func (ls Locales) Shows(id ID) bool {
	l, ok := ls.ByID(id)
	return id == NoID || (ok && l.DeletedAt == nil)
}

// ByCode finds the existing locale with a canonical code, or else with a code that
// was replaced by it, such as iw, which earlier versions stored.
func (ls Locales) ByCode(code string) (Locale, bool) {
	var found Locale
	for _, l := range ls {
		if l.DeletedAt != nil {
			continue
		}
		if l.Code == code {
			return l, true
		}
		if found.ID == NoID && canonicalCode(l.Code) == code {
			found = l
		}
	}
	return found, found.ID != NoID
}

func canonicalCode(stored string) string {
	code, _ := ParseLocaleCode(stored) // it was valid when it was stored
	return code
}

// DeletedByCode finds the locale with this code that was deleted last.
func (ls Locales) DeletedByCode(code string) (Locale, bool) {
	var found Locale
	for _, l := range ls {
		if l.DeletedAt != nil && canonicalCode(l.Code) == code && (found.DeletedAt == nil || !l.DeletedAt.Before(*found.DeletedAt)) {
			found = l
		}
	}
	return found, found.DeletedAt != nil
}

// Find finds a locale by id, or by code in any letter case. It finds no deleted
// ones.
func (ls Locales) Find(idOrCode string) (Locale, bool) {
	if id, ok := ParseID(idOrCode); ok {
		l, ok := ls.ByID(id)
		return l, ok && l.DeletedAt == nil
	}
	code, err := ParseLocaleCode(idOrCode)
	if err != nil {
		return Locale{}, false
	}
	return ls.ByCode(code)
}

// CheckUnique refuses a locale of a site if another of its locales has the same
// code, or is served at the same origin and path prefix.
func (ls Locales) CheckUnique(site Site, l Locale) error {
	code, place := canonicalCode(l.Code), site.Place(l)
	for _, o := range ls {
		switch {
		case o.ID == l.ID || o.DeletedAt != nil:
		case canonicalCode(o.Code) == code:
			return Conflict("A locale with this code already exists")
		case site.Place(o) == place:
			return placeTaken(o)
		}
	}
	return nil
}

// CheckPlaces refuses a site of which two locales are served at the same origin
// and path prefix.
func (ls Locales) CheckPlaces(site Site) error {
	taken := map[Place]bool{}
	for _, l := range ls {
		if l.DeletedAt != nil {
			continue
		}
		place := site.Place(l)
		if taken[place] {
			return placeTaken(l)
		}
		taken[place] = true
	}
	return nil
}

func placeTaken(by Locale) error {
	return Conflict("The locale " + by.Code + " is already served at this origin and path prefix")
}
