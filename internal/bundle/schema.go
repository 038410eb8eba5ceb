package bundle

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"galley/internal/cms"
)

// Names of fields that have a meaning beyond their value.
const (
	formatField        = "bundle"
	idField            = "id"
	nameField          = "name"
	pathnameField      = "pathname"
	contentField       = "content"
	localeField        = "locale"
	sourceField        = "source"
	targetField        = "target"
	defaultLocaleField = "defaultLocale"
	pathPrefixField    = "pathPrefix"
	movedFromField     = "movedFrom"
	localizationsField = "localizations"
)

// kind is the type of a field.
type kind string

const (
	text    kind = "text"
	number  kind = "a number"
	boolean kind = "true or false"
	list    kind = "a list of texts"
)

// field is a field of a resource.
type field struct {
	name     string
	kind     kind
	initial  any // the value of a field that is left out; nil is null
	required bool
	// parse returns the value as the service stores it.
	parse func(string) (string, error)
	check func(any) error
	// send returns the value as a request has it, if that differs.
	send func(string) string
}

// schema is the fields of a kind of resource, in the order in which they are written.
type schema []field

var (
	siteFields = schema{
		{name: nameField, kind: text, required: true, check: checkName},
		{name: "hostOrigin", kind: text, parse: cms.ParseOrigin},
		{name: defaultLocaleField, kind: text, required: true, parse: cms.ParseLocaleCode},
		{name: "siteKeyAccess", kind: text, initial: string(cms.AccessDraft), check: oneOf(cms.SiteKeyAccesses)},
		{name: "localeManagementMode", kind: text, initial: string(cms.LocalesInternal), check: oneOf(cms.LocaleModes)},
		{name: "autoRedirects", kind: boolean, initial: true},
		{name: "previewUrlTemplate", kind: text, parse: cms.ParsePreviewTemplate},
		{name: "labels", kind: list, initial: []string{}, check: checkLabels},
	}
	localeFields = schema{
		{name: localeField, kind: text, required: true, parse: cms.ParseLocaleCode},
		{name: "domain", kind: text, parse: cms.ParseOrigin},
		{name: pathPrefixField, kind: text, parse: decoded(cms.ParsePathPrefix), send: escapePercent},
	}
	routeFields    = schema{{name: pathnameField, kind: text, required: true, parse: parseRoute, send: sentRoute}}
	redirectFields = schema{
		{name: sourceField, kind: text, required: true, parse: decoded(cms.ParseSource), send: escapePercent},
		{name: localeField, kind: text, parse: cms.ParseLocaleCode},
		{name: targetField, kind: text, required: true, parse: parseTarget, send: sentTarget},
		{name: "status", kind: number, initial: float64(cms.DefaultRedirectStatus), check: checkStatus},
	}
	pageFields = append(schema{
		{name: pathnameField, kind: text, required: true, parse: decoded(cms.ParsePathname), send: escapePercent},
		{name: nameField, kind: text, check: checkName},
	}, metaFields...)
	localizationFields = append(schema{
		{name: pathnameField, kind: text, parse: decoded(cms.ParsePathname), send: escapePercent},
	}, append(slices.Clone(metaFields), field{name: contentField, kind: text, check: checkNoContent})...)

	metaFields = schema{
		{name: "title", kind: text, check: checkText},
		{name: "description", kind: text, check: checkText},
		{name: "canonicalUrl", kind: text, parse: cms.ParseURL},
		{name: "socialImageUrl", kind: text, parse: cms.ParseURL},
		{name: "sitemapPriority", kind: number, check: checkPriority},
		{name: "sitemapFrequency", kind: text, check: oneOf(cms.Frequencies)},
		{name: "isOnline", kind: boolean, initial: true},
		{name: "excludedFromSearchEngines", kind: boolean},
	}
	// sentFields are those of a page with its content, which is in files of its own.
	sentFields = append(slices.Clone(pageFields), field{name: contentField, kind: text})
)

// withID returns the schema of files with ids, which name a resource in a site.
func (s schema) withID() schema {
	id := field{name: idField, kind: text, check: checkID}
	return append(schema{s[0], id}, s[1:]...)
}

func (s schema) find(name string) (field, bool) {
	i := slices.IndexFunc(s, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return s[i], true
}

// keep returns the values that a file has: those of the schema that are not the default.
func (s schema) keep(all values) values {
	kept := values{}
	for _, f := range s {
		if value, ok := all[f.name]; ok && !reflect.DeepEqual(value, f.initial) {
			kept[f.name] = value
		}
	}
	return kept
}

// decoded adapts a rule for requests, which decodes percent escapes, to a bundle, which has
// pathnames as they are stored.
func decoded(parse func(string) (string, error)) func(string) (string, error) {
	return func(s string) (string, error) { return parse(escapePercent(s)) }
}

func escapePercent(s string) string { return strings.ReplaceAll(s, "%", "%25") }

// parseRoute reads the pathname of a route, which may have the form of another system.
func parseRoute(s string) (string, error) {
	if parsed, err := cms.ParsePathname(escapePercent(s)); err == nil && strings.HasPrefix(s, "/") {
		return parsed, nil
	}
	return cms.RawPathname(s)
}

func sentRoute(s string) string {
	if _, err := cms.ParsePathname(escapePercent(s)); err == nil && strings.HasPrefix(s, "/") {
		return escapePercent(s)
	}
	return s
}

// parseTarget reads the target of a redirect: a pathname or a URL.
func parseTarget(s string) (string, error) { return cms.ParseTarget(sentTarget(s)) }

func sentTarget(s string) string {
	if strings.HasPrefix(s, "/") {
		return escapePercent(s)
	}
	return s
}

func checkName(v any) error {
	n := cms.NewSite{SitePatch: cms.SitePatch{Name: cms.Some(v.(string))}}
	return firstProblem(n.Clean)
}

func checkText(v any) error {
	s := v.(string)
	patch := cms.PagePatch{Title: cms.Some(&s)}
	return firstProblem(func(p *cms.Problems) { patch.Clean(p, true) })
}

func checkPriority(v any) error {
	n := v.(float64)
	patch := cms.PagePatch{SitemapPriority: cms.Some(&n)}
	return firstProblem(func(p *cms.Problems) { patch.Clean(p, true) })
}

func checkStatus(v any) error {
	n := v.(float64)
	patch := cms.RedirectPatch{Status: cms.Some(int(n))}
	if n != math.Trunc(n) {
		patch.Status.Value = 0
	}
	return firstProblem(patch.Clean)
}

func checkLabels(v any) error {
	patch := cms.SitePatch{Labels: cms.Some(v.([]string))}
	return firstProblem(patch.Clean)
}

func checkID(v any) error {
	if _, ok := cms.ParseID(v.(string)); !ok {
		return errors.New("must be an id, as galley export --ids writes it")
	}
	return nil
}

func checkNoContent(any) error {
	return errors.New("must be in a file of the folder content")
}

// firstProblem is what the rules of the service say of a single value.
func firstProblem(clean func(*cms.Problems)) error {
	var p cms.Problems
	clean(&p)
	if details := p.As(cms.ErrInvalid).Details; len(details) > 0 {
		return errors.New(details[0].Message)
	}
	return nil
}

func oneOf[T ~string](all []T) func(any) error {
	return func(v any) error {
		if slices.Contains(all, T(v.(string))) {
			return nil
		}
		names := make([]string, len(all))
		for i, name := range all {
			names[i] = string(name)
		}
		return fmt.Errorf("must be one of %s", strings.Join(names, ", "))
	}
}
