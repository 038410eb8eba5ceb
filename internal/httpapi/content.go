package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/wI2L/jsondiff"

	"galley/internal/cms"
	"galley/internal/service"
)

// maxContentDepth is how deep a content may be nested.
const maxContentDepth = 100

const mustBeContent = "must be a JSON object or array"

// contentText is a content as requests and responses have it: a JSON object or
// array.
type contentText []byte

// MarshalJSON returns the text itself.
func (t contentText) MarshalJSON() ([]byte, error) { return t, nil }

// Content is the content of a page in one version and locale.
type Content struct {
	Object      string      `json:"object" enum:"content" doc:"Always content."`
	PageID      cms.ID      `json:"pageId" doc:"The page."`
	SiteID      cms.ID      `json:"siteId" doc:"The site that the page belongs to."`
	Locale      string      `json:"locale" doc:"The locale that is shown: the default one of the site unless another was asked for." example:"en-US"`
	Digest      cms.Digest  `json:"digest" doc:"SHA-256 of the value as it is stored."`
	Value       contentText `json:"value" doc:"The value as it was sent, without insignificant white space."`
	IsInherited bool        `json:"isInherited" doc:"Whether it is the default locale's." example:"false"`
	UpdatedAt   timestamp   `json:"updatedAt" doc:"When the page was last updated."`
}

func newContent(v service.PageView) Content {
	return Content{
		Object: "content", PageID: v.ID, SiteID: v.SiteID, Locale: v.Locale, Digest: *v.Values.Content, Value: v.Content,
		IsInherited: v.InheritsContent(), UpdatedAt: newTimestamp(v.UpdatedAt),
	}
}

// pageWithContent has an entity tag that If-Match takes for the page, too.
type pageWithContent struct{ Page }

func newPageWithContent(v service.PageView) pageWithContent {
	p := newPage(v)
	p.Content = new(contentText("null"))
	if v.Content != nil {
		*p.Content = v.Content
	}
	return pageWithContent{p}
}

func (p pageWithContent) withoutUse() any {
	p.Content = nil
	return p.Page
}

// parseContent checks a content and removes its white space. It notes what is
// wrong with the value of a field, and returns nil then.
func parseContent(p *cms.Problems, field string, text []byte, most int64) *cms.Content {
	if int64(len(text)) > most {
		p.Add(field, fmt.Sprintf("must not be larger than %d bytes", most))
		return nil
	}
	// The decoder of jsontext finds everything but the depth, at a fraction of the
	// cost of reading tokens.
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	value, err := d.ReadValue()
	if err == nil {
		_, err = d.ReadToken()
	}
	if kind := value.Kind(); errors.Is(err, io.EOF) && (kind == '{' || kind == '[') {
		if compact, depth := compactJSON(value); depth <= maxContentDepth {
			return new(cms.NewContent(compact))
		}
	}
	explainContent(p, field, text)
	return nil
}

// compactJSON removes the white space of a valid value, and returns how deep it is
// nested.
func compactJSON(value []byte) (compact []byte, depth int) {
	compact = make([]byte, 0, len(value))
	level := 0
	for i := 0; i < len(value); i++ {
		switch c := value[i]; c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			end := i + 1
			for value[end] != '"' {
				if value[end] == '\\' {
					end++
				}
				end++
			}
			compact = append(compact, value[i:end]...)
			i = end
		case '{', '[':
			level++
			depth = max(depth, level)
		case '}', ']':
			level--
		}
		compact = append(compact, value[i])
	}
	return compact, depth
}

// explainContent notes what is wrong with a content that can't be stored.
func explainContent(p *cms.Problems, field string, text []byte) {
	name := field
	if field == "body" {
		name = "" // the fields of the value are those of the body
	}
	var repeated cms.Problems
	d := newDecoder(text, &repeated, maxContentDepth, math.MaxInt)
	if kind := d.PeekKind(); kind != '{' && kind != '[' {
		p.Add(field, mustBeContent)
		return
	}
	err := d.skip(name)
	if err == nil {
		_, err = d.ReadToken()
	}
	switch {
	case errors.Is(err, errDepth):
		p.Add(field, fmt.Sprintf("must not be nested deeper than %d levels", maxContentDepth))
	case err == nil:
		p.Add(field, mustBeContent+" and nothing after it")
	case !errors.Is(err, io.EOF):
		p.Add(field, "must be valid JSON in UTF-8")
	}
	for _, detail := range repeated.As(cms.ErrInvalid).Details {
		if errors.Is(err, io.EOF) {
			p.Add(detail.Field, detail.Message)
		}
	}
}

// contentInput decodes the body, which is the content itself.
func (a *API) contentInput(r *request) service.Input[cms.Content] {
	body := r.jsonBody()
	var content cms.Content
	if body.err == nil {
		var problems cms.Problems
		if parsed := parseContent(&problems, "body", body.raw, a.maxContent); parsed != nil {
			content = *parsed
		}
		body.err = problems.Err()
	}
	return func() (cms.Content, error) { return content, body.err }
}

// contentTag is the entity tag of a content; "" for none.
func (r *request) contentTag(digest *cms.Digest) string {
	if digest == nil {
		return ""
	}
	return r.tagOf([]byte(digest.String()))
}

var errContentExists = &cms.Error{Code: cms.CodePreconditionFailed, Message: "There is content with the entity tag that If-None-Match names"}

// contentMatch returns the request's conditions on the content that it replaces.
func (r *request) contentMatch() func(own *cms.Digest) error {
	match, none := r.Header.Values("If-Match"), r.Header.Values("If-None-Match")
	return func(own *cms.Digest) error {
		isListed := func(header []string) bool {
			return own != nil && tagListed(header, func(listed string) bool { return listed == r.contentTag(own) })
		}
		switch {
		case len(match) > 0 && !isListed(match):
			return cms.ErrPreconditionFailed
		case len(none) > 0 && isListed(none):
			return errContentExists
		}
		return nil
	}
}

func (a *API) getContent(r *request) (response, error) {
	v, err := a.svc.Content(r.Context(), r.who, service.ReadPage{Ref: service.Ref{ID: r.pathID}, Version: r.query.version, Locale: r.query.locale})
	if err != nil {
		return response{}, err
	}
	res := ok(newContent(v))
	res.about = cms.SubjectsOfPage(v.SiteID, r.query.version.Version, v.ID)
	return res, nil
}

func (a *API) putContent(r *request) (response, error) {
	v, err := a.svc.PutContent(r.Context(), r.who, r.pathID, r.query.locale, a.contentInput(r), r.contentMatch())
	if err != nil {
		return response{}, err
	}
	return ok(newContent(v)), nil
}

func (a *API) deleteContent(r *request) (response, error) {
	return noContent(), a.svc.DeleteContent(r.Context(), r.who, r.pathID, r.query.locale, r.contentMatch())
}

// ContentDiff is the difference between the contents of two versions of a page.
type ContentDiff struct {
	Object string           `json:"object" enum:"contentDiff" doc:"Always contentDiff."`
	PageID cms.ID           `json:"pageId" doc:"The page."`
	SiteID cms.ID           `json:"siteId" doc:"The site that the page belongs to."`
	Locale string           `json:"locale" doc:"The locale that is compared." example:"en-US"`
	Patch  []PatchOperation `json:"patch" doc:"A JSON Patch (RFC 6902) that turns the one into the other. A version without content is null."`
}

// PatchOperation is an operation of a JSON Patch.
type PatchOperation struct {
	Op    string     `json:"op" doc:"What to do." example:"replace"`
	Path  string     `json:"path" doc:"Where, as a JSON Pointer." example:"/title"`
	From  string     `json:"from,omitempty" doc:"Where to move or copy from."`
	Value patchValue `json:"value,omitempty" doc:"The value to add, to replace with or to test."`
}

// patchValue is any JSON value.
type patchValue []byte

// MarshalJSON returns the text itself.
func (t patchValue) MarshalJSON() ([]byte, error) { return t, nil }

func (a *API) diffContent(r *request) (response, error) {
	diff, release, err := a.svc.DiffContent(r.Context(), r.who, r.pathID, r.query.from, r.query.to, r.query.locale)
	if err != nil {
		return response{}, err
	}
	defer release()
	patch, err := diffContents(diff.From, diff.To)
	if err != nil {
		return response{}, err
	}
	return ok(ContentDiff{"contentDiff", r.pathID, diff.SiteID, diff.Locale, patch}), nil
}

const (
	// maxPointers bounds the text of the pointers of a patch.
	maxPointers = 16 << 20
	// maxArrayPairs bounds the pairs of items that are compared to find those that
	// arrays have in common.
	maxArrayPairs = 1 << 20
)

// diffContents returns a patch from one content to another; nil is none. Numbers
// are compared as they are written. A patch that might become much larger than the
// contents replaces the whole.
func diffContents(from, to []byte) ([]PatchOperation, error) {
	before, err := decodeValue(from)
	if err != nil {
		return nil, err
	}
	after, err := decodeValue(to)
	if err != nil {
		return nil, err
	}
	var cost diffCost
	cost.add(0, before)
	cost.add(0, after)
	if cost.pointers > maxPointers {
		return []PatchOperation{{Op: jsondiff.OperationReplace, Value: encode(after)}}, nil
	}
	var options []jsondiff.Option
	if cost.pairs <= maxArrayPairs {
		options = append(options, jsondiff.LCS())
	}
	operations, err := jsondiff.CompareWithoutMarshal(before, after, options...)
	if err != nil {
		return nil, err
	}
	patch := make([]PatchOperation, len(operations))
	for i, o := range operations {
		patch[i] = PatchOperation{Op: o.Type, Path: o.Path, From: o.From}
		if o.Type != jsondiff.OperationRemove {
			patch[i].Value = encode(o.Value)
		}
	}
	return patch, nil
}

func decodeValue(text []byte) (value any, err error) {
	if text == nil {
		return nil, nil //nolint:nilnil // the value of no content
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

// diffCost is what the comparison of values may cost.
type diffCost struct {
	pointers int // bytes of the pointers to all values
	pairs    int // pairs of items of arrays
}

// add adds the values below one whose pointer has so many bytes.
func (c *diffCost) add(pointer int, value any) {
	c.pointers += pointer
	switch v := value.(type) {
	case []any:
		c.pairs += len(v) * len(v)
		for i, item := range v {
			c.add(pointer+1+len(strconv.Itoa(i)), item)
		}
	case map[string]any:
		for name, item := range v {
			c.add(pointer+1+len(name)+strings.Count(name, "~")+strings.Count(name, "/"), item)
		}
	}
}
