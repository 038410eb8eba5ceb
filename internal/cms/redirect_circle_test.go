package cms_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"galley/internal/cms"
)

// redirects is a version's redirects in memory.
type redirects []cms.Redirect

func (rs redirects) From(sources []string) ([]cms.Redirect, error) {
	return slices.DeleteFunc(slices.Clone(rs), func(r cms.Redirect) bool { return !slices.Contains(sources, r.Source) }), nil
}

func (rs redirects) Below(pathname string) ([]cms.Redirect, error) {
	return slices.DeleteFunc(slices.Clone(rs), func(r cms.Redirect) bool {
		return !r.IsBelow(pathname)
	}), nil
}

// circleSite is a site with an origin, a root locale, and others with prefixes and a
// domain.
func circleSite() (cms.Site, cms.Locales) {
	locales := cms.Locales{
		{ID: cms.NewID(), Code: "en"}, {ID: cms.NewID(), Code: "fr"}, {ID: cms.NewID(), Code: "de", Domain: new("https://example.de")},
	}
	return cms.Site{DefaultLocaleID: locales[0].ID, HostOrigin: new("https://example.com")}, locales
}

func TestFindCircle(t *testing.T) {
	site, locales := circleSite()
	en, fr, de := locales[0].ID, locales[1].ID, locales[2].ID
	for name, c := range map[string]struct {
		rules []string // "locale source target"
		want  string
	}{
		"itself":                  {[]string{". /a /a"}, "/a -> /a"},
		"two":                     {[]string{". /a /b", ". /b /a"}, "/a -> /b -> /a"},
		"a chain":                 {[]string{". /a /b", ". /b /c"}, ""},
		"itself by URL":           {[]string{". /a https://example.com/a"}, "/a -> /a"},
		"itself by URL elsewhere": {[]string{". /a https://example.org/a"}, ""},
		"in another locale":       {[]string{"en /a https://example.com/fr/a", "fr /a https://example.com/a"}, "/a -> /a -> /a"},
		"not in that locale":      {[]string{"en /a https://example.com/fr/a"}, ""},
		"a domain":                {[]string{". /a https://example.de/a"}, "/a -> /a"},
		"the locale escapes":      {[]string{". /a /b", ". /b /a", "en /a /c", "fr /b /c", "de /a /c"}, ""},
		"one does not escape":     {[]string{". /a /b", ". /b /a", "en /a /c", "fr /b /c"}, "/a -> /b -> /a"},
		"star onto itself":        {[]string{". /a/* /a/*"}, "/a/* -> /a/*"},
		"star grows":              {[]string{". /a/* /a/b/*"}, "/a/* -> /a/b/* -> /a/b/b/* -> /a/b/b/b/* -> …"},
		"star shrinks":            {[]string{". /a/b/* /a/*"}, ""},
		"star grows until caught": {[]string{". /a/* /a/b/*", ". /a/b/* /c"}, ""},
		"stars swap":              {[]string{". /a/* /b/*", ". /b/* /a/*"}, "/a/* -> /b/* -> /a/*"},
		"star to what it covers":  {[]string{". /a/* /a/b"}, "/a/b -> /a/b"},
		"star to its own base":    {[]string{". /a/* /a"}, ""},
		"star and exact":          {[]string{". /a/* /b/*", ". /b/x /a/x"}, "/b/x -> /a/x -> /b/x"},
		"exact guards":            {[]string{". /a/* /b/*", ". /b/x /a/x", ". /a/x https://example.org/"}, ""},
		"root star":               {[]string{". /* /n/*"}, "/* -> /n/* -> /n/n/* -> /n/n/n/* -> …"},
		"root star elsewhere":     {[]string{". /* https://example.org/*"}, ""},
		"root star home":          {[]string{". /* /"}, ""},
		"root star to a locale":   {[]string{"en /* https://example.com/fr/*"}, ""},
		"star to a prefix":        {[]string{"fr /c/* /b/fr/c/*", "fr /b/* https://example.com/*"}, "/c/* -> /b/fr/c/* -> /c/*"},
		"narrowing needs fuel":    {[]string{". /a/1/* /b/*", ". /b/2/* /a/*"}, ""},
		"popped and pushed":       {[]string{". /a/b/* /a/*", ". /a/c /a/b/c"}, "/a/c -> /a/b/c -> /a/c"},
		"shorter by a star":       {[]string{". /x/* /*", ". /y /x/y"}, "/y -> /x/y -> /y"},
		"query":                   {[]string{". /a https://example.com/a?b=1"}, "/a -> /a"},
	} {
		var all redirects
		ids := map[string]cms.ID{".": cms.NoID, "en": en, "fr": fr, "de": de}
		for _, rule := range c.rules {
			part := strings.Fields(rule)
			all = append(all, cms.Redirect{ID: cms.NewID(), LocaleID: ids[part[0]], Source: part[1], Target: part[2]})
		}
		circle, err := cms.FindCircle(site, locales, all, all)
		got := ""
		if circle != nil {
			_, got, _ = strings.Cut(circle.Err().Message, ": ")
		}
		if canonical(got) != canonical(c.want) || err != nil {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// canonical begins a circle at its least step.
func canonical(circle string) string {
	steps := strings.Split(circle, " -> ")
	if len(steps) < 2 || strings.HasSuffix(circle, "…") {
		return circle
	}
	steps = steps[1:]
	least := slices.Index(steps, slices.Min(steps))
	return strings.Join(append(slices.Clone(steps[least:]), steps[:least]...), " ")
}

func TestCircleOfAHundred(t *testing.T) {
	site, locales := circleSite()
	var all redirects
	for i := range 100 {
		all = append(all, cms.Redirect{ID: cms.NewID(), Source: fmt.Sprintf("/%d", i), Target: fmt.Sprintf("/%d", (i+1)%100)})
	}
	circle, err := cms.FindCircle(site, locales, all[:1], all)
	if err != nil || circle == nil || len(circle.IDs) != 100 {
		t.Fatalf("got %v, %v", circle, err)
	}
	if message := circle.Err().Message; !strings.HasSuffix(message, "/19 -> … -> /0") {
		t.Error(message)
	}
	if circle, err := cms.FindCircle(site, locales, all[:1], all[:99]); circle != nil || err != nil {
		t.Errorf("a chain: got %v, %v", circle, err)
	}
}

// comesRound follows every short concrete path in every locale.
func comesRound(site cms.Site, locales cms.Locales, all redirects) bool {
	paths := []string{"/"}
	for level := []string{""}; len(level) > 0 && len(level[0]) < 8; {
		var next []string
		for _, path := range level {
			for _, segment := range []string{"a", "b", "fr", "z"} {
				next = append(next, path+"/"+segment)
			}
		}
		paths, level = append(paths, next...), next
		if strings.Count(next[0], "/") == 4 {
			break
		}
	}
	for _, l := range locales {
		for _, path := range paths {
			if followed(site, locales, all, l.ID, path) {
				return true
			}
		}
	}
	return false
}

// acting is ActingRedirect, written differently and faster for few redirects.
func acting(all redirects, path string, locale cms.ID) (best cms.Redirect, ok bool) {
	for _, r := range all {
		if (r.LocaleID != locale && r.LocaleID != cms.NoID) || !r.Matches(path) {
			continue
		}
		longer := len(r.Source) > len(best.Source)
		if best.IsWild() != r.IsWild() {
			longer = best.IsWild()
		}
		if !ok || longer || (r.Source == best.Source && r.LocaleID == locale) {
			best, ok = r, true
		}
	}
	return best, ok
}

// followed reports whether following a path takes too many steps to end.
func followed(site cms.Site, locales cms.Locales, all redirects, locale cms.ID, path string) bool {
	for range 150 {
		r, ok := acting(all, path, locale)
		if !ok {
			return false
		}
		target := r.Expand(path)
		if strings.HasPrefix(target, "/") {
			path = target
			continue
		}
		origin, rest, _, err := cms.SplitURL(target)
		if err != nil {
			return false
		}
		at, ok := locales.Locate(site, origin, rest)
		if !ok {
			return false
		}
		locale, path = at.Locale.ID, at.Pathname
	}
	return true
}

// randomRedirect is one over few segments, so that circles are likely.
func randomRedirect(rng *rand.Rand, locales cms.Locales) cms.Redirect {
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	r := cms.Redirect{ID: cms.NewID(), Source: randomPath(rng, pick("", "/*")), Target: randomPath(rng, "")}
	if rng.IntN(3) == 0 {
		r.LocaleID = locales[rng.IntN(len(locales))].ID
	}
	star := ""
	if r.IsWild() && rng.IntN(3) > 0 {
		star = "/*"
	}
	switch rng.IntN(5) {
	case 0:
		r.Target = pick("https://example.com", "https://example.com/fr", "https://example.de", "https://example.org") + strings.TrimSuffix(r.Target, "/")
	default:
		if star != "" {
			r.Target = strings.TrimSuffix(r.Target, "/")
		}
	}
	r.Target += star
	return r
}

func randomPath(rng *rand.Rand, end string) string {
	var path strings.Builder
	for range rng.IntN(3) {
		path.WriteString("/" + []string{"a", "b", "fr"}[rng.IntN(3)])
	}
	path.WriteString(end)
	if path.Len() == 0 {
		return "/"
	}
	return path.String()
}

// The check agrees with following every concrete path, whether it begins at all
// redirects or only at the one that was added, changed or deleted last.
func TestCirclesAreThoseOfConcretePaths(t *testing.T) {
	site, locales := circleSite()
	const rounds = 300
	found := 0
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		var all redirects
		for range 8 {
			next, changed := slices.Clone(all), []cms.Redirect{}
			if at := rng.IntN(len(all) + 2); at < len(all) {
				changed = append(changed, all[at])
				next = slices.Delete(next, at, at+1)
			}
			if len(changed) == 0 || rng.IntN(2) == 0 {
				r := randomRedirect(rng, locales)
				if slices.ContainsFunc(next, func(o cms.Redirect) bool { return o.Source == r.Source && o.LocaleID == r.LocaleID }) {
					continue
				}
				changed, next = append(changed, r), append(next, r)
			}
			want := comesRound(site, locales, next)
			for name, starts := range map[string][]cms.Redirect{"all": next, "changed": changed} {
				circle, err := cms.FindCircle(site, locales, starts, next)
				if err != nil || (circle != nil) != want {
					t.Fatalf("seed %d, from %s: got %+v, %v, want %t\n%s", seed, name, circle, err, want, described(next, locales))
				}
			}
			if want {
				found++
				continue
			}
			all = next
		}
	}
	if found < rounds/10 {
		t.Errorf("only %d circles in %d rounds", found, rounds)
	}
}

func described(all redirects, locales cms.Locales) string {
	var b strings.Builder
	for _, r := range all {
		l, _ := locales.ByID(r.LocaleID)
		fmt.Fprintf(&b, "%s: %s -> %s\n", l.Code, r.Source, r.Target)
	}
	return b.String()
}
