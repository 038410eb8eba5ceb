package console

import (
	"encoding/json"
	"strconv"
	"strings"
)

// change is what a publish does to a page in a locale, or to a redirect.
type change struct {
	ID                 string
	PageID, RedirectID *string
	Locale             *string
	Kind               string
	Pathname           string
	PreviousPathname   *string
	Fields             []fieldChange
}

type fieldChange struct {
	Field    string
	From, To any
}

// changeCard is all that changes of a page, or of a redirect.
type changeCard struct {
	id, pathname, title string
	kind                string
	isRedirect          bool
	changes             []change
}

func (c changeCard) lastID() string { return c.changes[len(c.changes)-1].ID }

// value is what the card's checkbox sends.
func (c changeCard) value() string {
	if c.isRedirect {
		return "r" + c.id
	}
	return "p" + c.id
}

// locales are the codes of the changes from the nth on.
func (c changeCard) locales(from int) string {
	var codes []string
	for _, change := range c.changes[from:] {
		codes = append(codes, deref(change.Locale))
	}
	return strings.Join(codes, ", ")
}

// makeCards puts the changes of a page together, which follow each other in the list.
func makeCards(changes []change) []changeCard {
	var cards []changeCard
	for _, c := range changes {
		id, isRedirect := deref(c.PageID), false
		if c.RedirectID != nil {
			id, isRedirect = *c.RedirectID, true
		}
		if n := len(cards); n == 0 || cards[n-1].id != id {
			cards = append(cards, changeCard{id: id, pathname: c.Pathname, kind: c.Kind, isRedirect: isRedirect})
		}
		card := &cards[len(cards)-1]
		card.changes = append(card.changes, c)
		for _, f := range c.Fields {
			if f.Field == "title" && card.title == "" && len(card.changes) == 1 {
				card.title = orElse(f.text(f.To), f.text(f.From))
			}
		}
	}
	return cards
}

// text is a value as people read it; none is nothing.
func (f fieldChange) text(value any) string {
	switch x := value.(type) {
	case nil:
		return ""
	case string:
		return x
	case bool:
		if f.Field == "isAutomatic" || f.Field == "isEnabled" {
			return yesNo(x)
		}
		return shownValue(f.Field, boolText(x))
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

func (f fieldChange) from() string { return f.text(f.From) }
func (f fieldChange) to() string   { return f.text(f.To) }

// isPath reports whether a field is replaced as a whole.
func (f fieldChange) isPath() bool {
	switch f.Field {
	case "pathname", "source", "target", "canonicalUrl", "socialImageUrl":
		return true
	}
	return false
}

// kindOf is how a kind of change is shown.
type kindOf struct{ name, word, icon, class string }

var changeKinds = []kindOf{
	{"updated", kindUpdated, "pencil", "edit"},
	{"created", kindCreated, "plus", "new"},
	{"pathChanged", kindMoved, "arrow-right", "moved"},
	{"deleted", kindDeleted, "trash-2", "gone"},
	{"takenOffline", kindOffline, "power-off", "off"},
	{"takenOnline", kindOnline, "power", "new"},
	{"redirectCreated", kindRedirectNew, "corner-down-right", "new"},
	{"redirectUpdated", kindRedirectEdited, "corner-down-right", "edit"},
	{"redirectDeleted", kindRedirectGone, "corner-down-right", "gone"},
}

func kindNamed(name string) kindOf {
	for _, k := range changeKinds {
		if k.name == name {
			return k
		}
	}
	return kindOf{name, name, "pencil", "edit"}
}

// event is something that was written.
type event struct {
	ID, Type, At  string
	SiteID        *string
	Locale        *string
	Actor         struct{ AppID, Name *string }
	RequestID     *string
	ChangedFields []string
	Data          json.RawMessage
}

// thing is what an event is about.
type thing struct{ ID, SiteID, Pathname, Source, Name, Locale, URL string }

func (e event) thing() (t thing) {
	_ = json.Unmarshal(e.Data, &t) // what it has not is empty
	return t
}
