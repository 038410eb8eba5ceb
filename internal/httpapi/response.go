package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/blake2b"

	"galley/internal/cms"
	"galley/internal/service"
)

// response is the result of a handler.
type response struct {
	status int
	body   any    // a wire type; nil: raw or none
	raw    []byte // or one that is encoded already
	media  string // the type of raw or stream; "": JSON
	// stream writes a body that is too large for the memory, and tag is its
	// entity tag; nil: none.
	stream func(io.Writer) error
	tag    string
	events *cms.EventQuery // a stream of events; nil: none

	location string
	secret   bool // the body has a key and must not be cached

	about  []cms.Subject // everything that a read depends on; nil: it must not be cached
	onSend func()        // called each time that the response is sent; nil: nothing
}

// of marks a read that depends on a site, but not on its pages.
func (res response) of(site cms.ID) response {
	res.about = []cms.Subject{{ID: site}}
	return res
}

func ok(body any) response { return response{status: http.StatusOK, body: body} }

func created(location string, body any) response {
	return response{status: http.StatusCreated, body: body, location: location}
}

// encode encodes a wire type as a line of JSON. It never fails for wire types.
func encode(body any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// encoded returns the body as it is sent.
func (res response) encoded() []byte {
	switch {
	case res.status == http.StatusNoContent:
		return []byte{}
	case res.body == nil:
		return res.raw
	}
	return encode(res.body)
}

func noContent() response { return response{status: http.StatusNoContent} }

// The codes that only this package uses.
const (
	codeMethodNotAllowed     cms.Code = "method_not_allowed"
	codePayloadTooLarge      cms.Code = "payload_too_large"
	codeUnsupportedMediaType cms.Code = "unsupported_media_type"
	codeTooManyRequests      cms.Code = "too_many_requests"
	codeInternal             cms.Code = "internal_error"
)

// statuses is the one table that turns codes into statuses.
var statuses = map[cms.Code]int{
	cms.CodeBadRequest:         http.StatusBadRequest,
	cms.CodeUnauthorized:       http.StatusUnauthorized,
	cms.CodeForbidden:          http.StatusForbidden,
	cms.CodeNotFound:           http.StatusNotFound,
	codeMethodNotAllowed:       http.StatusMethodNotAllowed,
	cms.CodeConflict:           http.StatusConflict,
	cms.CodeGone:               http.StatusGone,
	cms.CodePreconditionFailed: http.StatusPreconditionFailed,
	codePayloadTooLarge:        http.StatusRequestEntityTooLarge,
	codeUnsupportedMediaType:   http.StatusUnsupportedMediaType,
	codeTooManyRequests:        http.StatusTooManyRequests,
	codeInternal:               http.StatusInternalServerError,
	cms.CodeUnavailable:        http.StatusServiceUnavailable,
}

// Error is the body of every response that is not a success.
type Error struct {
	Object  string        `json:"object" enum:"error" doc:"Always error."`
	Code    cms.Code      `json:"code" doc:"What went wrong, for programs." example:"not_found"`
	Message string        `json:"message" doc:"What went wrong, for people." example:"Page not found"`
	Details []ErrorDetail `json:"details,omitempty" doc:"Only with bad_request and with errors of a batch: one entry for each invalid field, ordered by field; at most 100, and then one for the field body that says how many more there are."`
}

// ErrorDetail is what is wrong with one field.
type ErrorDetail struct {
	Field   string `json:"field" doc:"The field, parameter or header." example:"pathname"`
	Message string `json:"message" doc:"What is wrong with it." example:"must not be empty"`
}

// fail sends an error. Errors other than cms.Error are logged and sent as an
// internal error.
func (a *API) fail(w http.ResponseWriter, r *request, err error) {
	e, known := errors.AsType[*cms.Error](err)
	if !known {
		a.log.Error("request failed", "requestId", r.id, "error", err.Error())
		e = &cms.Error{Code: codeInternal, Message: "Something went wrong here, please report it with request id " + r.id}
	} else if e.Code == cms.CodeUnavailable {
		a.log.Warn("unavailable", "requestId", r.id, "error", err.Error())
		w.Header().Set("Retry-After", "1")
	}
	if e.Code == codePayloadTooLarge && r.ProtoMajor == 1 { // over HTTP/2, others share the connection
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	body := Error{Object: "error", Code: e.Code, Message: e.Message}
	for _, d := range e.Details {
		body.Details = append(body.Details, ErrorDetail{d.Field, d.Message})
	}
	writeJSON(w, statuses[e.Code], encode(body))
}

// write sends the response of a handler.
func (a *API) write(w http.ResponseWriter, r *request, res response) {
	if res.location != "" {
		w.Header().Set("Location", res.location)
	}
	if res.status == http.StatusNoContent {
		w.WriteHeader(res.status)
		return
	}
	if res.stream != nil {
		a.sendStream(w, r, res)
		return
	}
	body := res.encoded()
	tag := r.entityTag(res.body, body)
	if res.onSend != nil {
		res.onSend()
	}
	if res.secret {
		w.Header().Set("Cache-Control", "no-store")
	}
	if !r.endpoint.tagged() {
		writeJSON(w, res.status, body)
		return
	}
	if len(res.about) > 0 {
		r.site = res.about[0].ID
	}
	if readOnly(r.Method) {
		a.cache.keep(r, res, body, tag)
	}
	sendTagged(w, r, res.status, res.media, body, tag)
}

// sendTagged sends a response with its entity tag, or 304 if the client has it.
func sendTagged(w http.ResponseWriter, r *request, status int, media string, body []byte, tag string) {
	if !sendNotModified(w, r, tag) {
		writeBody(w, status, media, body)
	}
}

// sendNotModified sets the entity tag, and sends 304 if the client has it.
func sendNotModified(w http.ResponseWriter, r *request, tag string) bool {
	w.Header()["Etag"] = []string{tag}
	known := r.Header["If-None-Match"]
	if known == nil || !readOnly(r.Method) ||
		!tagListed(known, func(listed string) bool { return strings.TrimPrefix(listed, "W/") == tag }) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// sendStream sends a body as it is made. If that fails, the connection is closed, so
// that the client does not take a part for the whole.
func (a *API) sendStream(w http.ResponseWriter, r *request, res response) {
	if sendNotModified(w, r, res.tag) {
		return
	}
	w.Header().Set("Content-Type", res.media)
	w.WriteHeader(res.status)
	if r.Method == http.MethodHead {
		return
	}
	if err := res.stream(w); err != nil {
		a.log.Warn("response cut off", "requestId", r.id, "error", err.Error())
		panic(http.ErrAbortHandler)
	}
}

var contentJSON = []string{"application/json; charset=utf-8"} // shared by all responses

// bufferedBytes is how long a body may be for net/http to add its length.
const bufferedBytes = 2 << 10

func writeJSON(w http.ResponseWriter, status int, body []byte) { writeBody(w, status, "", body) }

func writeBody(w http.ResponseWriter, status int, media string, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentJSON
	if media != "" {
		h["Content-Type"] = []string{media}
	}
	if len(body) > bufferedBytes {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // it fails if the client has disconnected
}

// used is a wire type with fields that change with use, such as the time of the
// last request. withoutUse leaves them out.
type used interface{ withoutUse() any }

// entityTag is a strong validator. Fields that change with use have a part of
// their own, after a dot.
func (r *request) entityTag(body any, text []byte) string {
	if c, ok := body.(Content); ok {
		return r.contentTag(&c.Digest)
	}
	tag := r.tagOf(text)
	if u, ok := body.(used); ok {
		stable := r.tagOf(encode(u.withoutUse()))
		return stable[:len(stable)-1] + "." + tag[1:]
	}
	return tag
}

// tagLength is how many bytes of a hash a tag has.
const tagLength = 18

// tagOf hashes the workspace with the body, so that tags of tenants always
// differ.
func (r *request) tagOf(body []byte) string {
	workspace := r.who.WorkspaceID()
	hash, err := blake2b.New(tagLength, nil)
	if err != nil {
		panic(err) // the length is valid
	}
	_, _ = hash.Write(workspace[:]) // a hash never fails
	_, _ = hash.Write(body)
	return `"` + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)) + `"`
}

// tagListed reports whether a conditional header lists a tag that matches. The
// rest of a line after a malformed tag is ignored.
func tagListed(header []string, match func(tag string) bool) bool {
	if len(header) == 1 && strings.Trim(header[0], blanks) == "*" {
		return true
	}
	for _, line := range header {
		for {
			line = strings.TrimLeft(line, blanks+",")
			_, quoted, _ := strings.Cut(line, `"`)
			inside, rest, closed := strings.Cut(quoted, `"`)
			tag := line[:len(line)-len(rest)]
			if !closed || tag != `"`+inside+`"` && tag != `W/"`+inside+`"` {
				break
			}
			line = strings.TrimLeft(rest, blanks)
			if line != "" && line[0] != ',' {
				break
			}
			if match(tag) {
				return true
			}
		}
	}
	return false
}

// blanks may surround a tag.
const blanks = " \t"

// ifMatch returns the request's condition on the resource that it changes. It
// ignores the part of a tag that changes with use: reading an app with its own
// key changes that part.
func ifMatch[T, W any](r *request, wire func(T) W) service.Match[T] {
	header := r.Header.Values("If-Match")
	if len(header) == 0 {
		return nil
	}
	return func(current T) bool {
		body := wire(current)
		tag := r.entityTag(body, encode(body))
		stable, _, _ := strings.Cut(strings.TrimSuffix(tag, `"`), ".")
		return tagListed(header, func(listed string) bool {
			known, _, moves := strings.Cut(listed, ".")
			return listed == tag || (moves && known == stable)
		})
	}
}

// timestamp is a time as responses have it.
type timestamp string

// newTimestamp formats milliseconds itself, since a layout other than RFC3339 is
// slow, and a list of 20 has up to 60 timestamps.
func newTimestamp(t time.Time) timestamp {
	milli := t.Nanosecond() / int(time.Millisecond)
	text := t.UTC().AppendFormat(make([]byte, 0, len("2006-01-02T15:04:05.000Z")), time.RFC3339)
	text[len(text)-1] = '.' // in place of the Z
	return timestamp(append(text, byte('0'+milli/100), byte('0'+milli/10%10), byte('0'+milli%10), 'Z'))
}

func newNullTimestamp(t *time.Time) *timestamp {
	if t == nil {
		return nil
	}
	return new(newTimestamp(*t))
}

// List is the envelope of every list.
type List[T any] struct {
	Object  string `json:"object" enum:"list" doc:"Always list."`
	Data    []T    `json:"data" doc:"The items of this page of results."`
	HasMore bool   `json:"hasMore" doc:"True when more results exist after this page." example:"false"`
}

func newList[T, W any](list cms.List[T], wire func(T) W) List[W] {
	data := make([]W, len(list.Items))
	for i, item := range list.Items {
		data[i] = wire(item)
	}
	return List[W]{"list", data, list.HasMore}
}
