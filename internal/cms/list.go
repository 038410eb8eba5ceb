package cms

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Limits of a list request.
const (
	DefaultLimit = 20
	MaxLimit     = 100
)

// ListQuery asks for one page of a list ordered by id, oldest first.
type ListQuery struct {
	After ID // the cursor: NoID starts at the beginning
	Limit int
}

// Fold returns the text that is compared in a search, in which case does not count.
func Fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return cases.Fold().String(norm.NFC.String(s))
		}
	}
	return strings.ToLower(s) // the same, at less cost
}

// List is one page of a list.
type List[T any] struct {
	Items   []T
	HasMore bool
}

// CutList returns a list from one item more than the limit.
func CutList[T any](items []T, limit int) List[T] {
	if len(items) > limit {
		return List[T]{items[:limit], true}
	}
	return List[T]{items, false}
}

// ErrCursor is the error for a cursor that is no item of the list, deleted or not.
var ErrCursor = BadField("startingAfter", "must be the id of an item of this list")
