package cms

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Content is what a front end renders of a page: a JSON object or array, without
// insignificant white space.
type Content struct {
	Digest Digest
	Value  []byte
}

// NewContent returns the content with a value.
func NewContent(value []byte) Content { return Content{sha256.Sum256(value), value} }

// ContentAge is how old a content that no page refers to must be to be purged.
const ContentAge = time.Hour

// Digest identifies the value of a content.
type Digest [sha256.Size]byte

// String returns the digest as responses have it.
func (d Digest) String() string { return "sha256-" + hex.EncodeToString(d[:]) }

// MarshalText is String for lists of changes and plans.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// OwnContent is the content that a locale has of its own, and whether it has one,
// which may be null. NoID is the default locale.
func (p Page) OwnContent(localeID ID) (digest *Digest, owned bool) {
	if localeID == NoID {
		return p.Content, p.Content != nil
	}
	if l, ok := p.Localizations[localeID]; ok && l.Own.Has(FieldContent) {
		return l.Content, true
	}
	return nil, false
}

// Contents are the contents that a patch has.
func (c PagePatch) Contents() []Content {
	if c.Content.Value == nil {
		return nil
	}
	return []Content{*c.Content.Value}
}

// Contents are the contents that an operation has, those of localizations included.
func (o PageOperation) Contents() []Content {
	contents := o.PagePatch.Contents()
	for _, patch := range o.Localizations.Value {
		contents = append(contents, patch.Contents()...)
	}
	return contents
}
