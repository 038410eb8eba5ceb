package cms

import (
	"bytes"
	"slices"
	"strings"
)

// Subject is what changes are told of, and what answers follow from: a site
// with all that is in it but the drafts of its pages, the drafts of all its
// pages together, the draft of one page, or an app.
type Subject struct {
	ID     ID
	Drafts bool // of the pages of the site with the id
}

// SubjectsOf are what answers follow from that show pages of a version.
func SubjectsOf(siteID ID, version Version) []Subject {
	if version == Draft {
		return []Subject{{ID: siteID}, {ID: siteID, Drafts: true}}
	}
	return []Subject{{ID: siteID}}
}

// SubjectsOfPage are what answers follow from that show one page as it is in a
// version: where it is found by a pathname, nobody else can take that while the
// page holds it.
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

// SortSubjects drops doubles.
func SortSubjects(all []Subject) []Subject {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Subject) int {
		switch {
		case a.ID != b.ID:
			return bytes.Compare(a.ID[:], b.ID[:])
		case a.Drafts == b.Drafts:
			return 0
		case a.Drafts:
			return 1
		}
		return -1
	})
	return slices.Compact(all)
}
