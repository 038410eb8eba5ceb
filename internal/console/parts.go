package console

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// spritePath is the address of the icons. It is the same for every console of the
// program.
var spritePath = loadAssets().address("icons.svg")

func sprite(name string) string { return spritePath + "#" + name }

func titleOf(v *visit, title string) string {
	if v.site != nil {
		title += " · " + v.site.Name
	}
	return title + " · " + productName
}

var notInID = regexp.MustCompile(`[^a-z0-9]+`)

// idOf makes the id of an element from a text.
func idOf(text string) string { return "n-" + notInID.ReplaceAllString(strings.ToLower(text), "-") }

// initials are up to two letters of a name.
func initials(name string) string {
	var letters []rune
	for word := range strings.FieldsSeq(name) {
		if r, _ := utf8.DecodeRuneInString(word); (unicode.IsLetter(r) || unicode.IsDigit(r)) && len(letters) < 2 {
			letters = append(letters, unicode.ToUpper(r))
		}
	}
	return string(letters)
}

func scopeList(scopes []string) string { return strings.Join(scopes, ", ") }

// general is what is wrong with a form, but for the fields that say it themselves.
func (p *problem) general(fields ...string) string {
	if p == nil {
		return ""
	}
	var texts []string
	for _, d := range p.Details {
		if !slices.Contains(fields, d.Field) {
			texts = append(texts, d.Field+" "+d.Message)
		}
	}
	if len(p.Details) == 0 {
		texts = append(texts, p.Message)
	}
	return strings.Join(texts, "; ")
}

func signInWrong(p *problem) string {
	switch {
	case p == nil:
		return ""
	case p.Status == http.StatusTooManyRequests:
		return retryMessage(p)
	case p.Status == http.StatusForbidden:
		return useAnAppKey
	case p.Status == http.StatusUnauthorized:
		return wrongKey
	}
	return p.Message
}

func startWrong(p *problem) string {
	if p != nil && p.Status == http.StatusUnauthorized {
		return startUsed
	}
	return signInWrong(p)
}

// shortTime is a time without its zone, for browsers without scripts: UTC.
func shortTime(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return t.UTC().Format("2 Jan 2006 15:04") + " " + utcNote
}

func rfc3339(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

func themeName(theme string) string {
	switch theme {
	case "light":
		return themeLight
	case "dark":
		return themeDark
	}
	return themeSystem
}

// versionParam is the version in the address; the draft has none.
func (p pagesQuery) versionParam() string {
	if p.isDraft() {
		return ""
	}
	return p.version
}

// asOf names the publish whose version is shown.
func (s pagesView) asOf() string {
	if strings.HasPrefix(s.version, "publish:") {
		return versionWord(s.version, s.publishes)
	}
	return versionAsOf
}

func lastSegment(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func depthOf(r pageRow) string { return strconv.Itoa(min(r.depth, 8)) }

func ownClass(own bool) string {
	if own {
		return "own"
	}
	return "inh"
}

func restColumns(locale string) string {
	if locale == "" {
		return "3"
	}
	return "4"
}

func whatIsThere(r pageRow) string {
	if r.isRoute {
		return routeThere
	}
	return noPageThere
}

func stateClass(state string) string {
	switch state {
	case "live", "changed", "new":
		return state
	case "deleted":
		return "gone"
	}
	return "off"
}

func join(texts []string) string { return strings.Join(texts, ", ") }

func joinIDs(ids []string) string { return strings.Join(ids, ",") }

func contains(list []string, s string) bool { return slices.Contains(list, s) }

// options are the values of a field that is chosen.
func options(kind string) []string {
	switch kind {
	case "online":
		return []string{"true", "false"}
	case "robots":
		return []string{"", "false", "true"}
	}
	return frequencies
}

// withoutConflict is a problem that is not shown beside a field.
func withoutConflict(p *problem) *problem {
	if p != nil && p.Status == http.StatusConflict {
		return nil
	}
	return p
}

func patchClass(op string) string {
	switch op {
	case "add":
		return "k-new"
	case "remove":
		return "k-gone"
	case "move":
		return "k-moved"
	}
	return "k-edit"
}

// shortJSON is the beginning of a value.
func shortJSON(value []byte) string {
	const most = 300
	if text := []rune(string(value)); len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(value)
}

// whole is a number without commas.
func whole(n int) string { return strconv.Itoa(n) }

// saveOrAdd is the text of the button of a form that changes something, or adds it.
func saveOrAdd(edit, add string) string {
	if edit != "" {
		return save
	}
	return add
}

func publishClass(status string) string {
	switch status {
	case "published":
		return "live"
	case "scheduled":
		return "new"
	case "failed":
		return "gone"
	}
	return "off"
}

func siteIDOf(v *visit) string {
	if v.site == nil {
		return ""
	}
	return v.site.ID
}

// What a review says of pathnames that move depends on whether the site redirects them.

func moveClass(s *site) string {
	if s.AutoRedirects {
		return "ok"
	}
	return "see"
}

func moveIcon(s *site) string {
	if s.AutoRedirects {
		return "corner-down-right"
	}
	return "triangle-alert"
}

func moveText(s *site) string {
	if s.AutoRedirects {
		return movedRedirected
	}
	return movedNotFound
}

func enabledClass(w webhook) string {
	switch {
	case w.IsEnabled:
		return "live"
	case w.DisabledReason != nil:
		return "gone"
	}
	return "off"
}

func deliveryClass(status string) string {
	switch status {
	case "delivered":
		return "live"
	case "failed":
		return "gone"
	}
	return "new"
}

// dayOf is the day of a time in an address.
func dayOf(text string) string { return text[:min(len(text), len("2006-01-02"))] }

func shortText(text string) string { return shortJSON([]byte(text)) }

// withFormat is the address of a list as JSON.
func withFormat(address string) string {
	if strings.Contains(address, "?") {
		return address + "&format=json"
	}
	return address + "?format=json"
}
