package cms

import (
	"slices"
	"strings"
)

// Subject is what a change or a cached read is about: a site without the drafts of
// its pages, the drafts of all its pages, the draft of one page, or an app.
type Subject struct {
	ID     ID
	Drafts bool // of the pages of the site with the id
}

// SubjectsOf are the subjects of a read of the pages of a version.
func SubjectsOf(siteID ID, version Version) []Subject {
	if version == Draft {
		return []Subject{{ID: siteID}, {ID: siteID, Drafts: true}}
	}
	return []Subject{{ID: siteID}}
}

// SubjectsOfPage are the subjects of a read of one page in a version. They also
// cover a read by pathname, which no other page can take while the page has it.
func SubjectsOfPage(siteID ID, version Version, pageID ID) []Subject {
	if version == Draft {
		return []Subject{{ID: siteID}, {ID: pageID}}
	}
	return []Subject{{ID: siteID}}
}

const draftsMark = "/drafts"

func (s Subject) String() string {
	if s.Drafts {
		return s.ID.String() + draftsMark
	}
	return s.ID.String()
}

// ParseSubject reads what String wrote.
func ParseSubject(text string) (Subject, bool) {
	text, drafts := strings.CutSuffix(text, draftsMark)
	id, ok := ParseID(text)
	return Subject{id, drafts}, ok
}

// SortSubjects returns sorted subjects without duplicates.
func SortSubjects(all []Subject) []Subject {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Subject) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}
