package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/blake2b"

	"galley/internal/cms"
	"galley/internal/service"
)

// answer is what a handler found: a status and a wire type, or no body.
type answer struct {
	status   int
	body     any    // a wire type
	raw      []byte // or one that is encoded already
	location string
	secret   bool // the body has a key: nobody may store it

	about  []cms.Subject // all that a read follows from; nil: it is not to be kept
	onSend func()        // to be called each time that the answer is given out
}

// of says that a read follows from a site without its drafts.
func (ans answer) of(site cms.ID) answer {
	ans.about = []cms.Subject{{ID: site}}
	return ans
}

func ok(body any) answer { return answer{status: http.StatusOK, body: body} }

func created(location string, body any) answer {
	return answer{status: http.StatusCreated, body: body, location: location}
}

// encode turns a wire type into a line of JSON. Wire types always encode.
func encode(body any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// encoded is the body as it goes over the wire.
func (ans answer) encoded() []byte {
	switch {
	case ans.status == http.StatusNoContent:
		return []byte{}
	case ans.body == nil:
		return ans.raw
	}
	return encode(ans.body)
}

func noContent() answer { return answer{status: http.StatusNoContent} }

// The codes that only the edge answers with.
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
	cms.CodePreconditionFailed: http.StatusPreconditionFailed,
	codePayloadTooLarge:        http.StatusRequestEntityTooLarge,
	codeUnsupportedMediaType:   http.StatusUnsupportedMediaType,
	codeTooManyRequests:        http.StatusTooManyRequests,
	codeInternal:               http.StatusInternalServerError,
	cms.CodeUnavailable:        http.StatusServiceUnavailable,
}

// Error is the body of every answer that is not a success.
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

// fail answers an error. What is not meant for the caller is logged and
// answered as an internal error.
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

// write sends an answer.
func (a *API) write(w http.ResponseWriter, r *request, ans answer) {
	if ans.location != "" {
		w.Header().Set("Location", ans.location)
	}
	if ans.status == http.StatusNoContent {
		w.WriteHeader(ans.status)
		return
	}
	body := ans.encoded()
	tag := r.entityTag(ans.body, body)
	if ans.onSend == nil {
		ans.onSend = func() {}
	}
	ans.onSend()
	if ans.secret {
		w.Header().Set("Cache-Control", "no-store")
	}
	if !r.endpoint.tagged() {
		writeJSON(w, ans.status, body)
		return
	}
	if len(ans.about) > 0 {
		r.site = ans.about[0].ID
	}
	a.cache.keep(r, ans, body, tag)
	sendTagged(w, r, ans.status, body, tag)
}

// sendTagged sends an answer with its entity tag, or says that the caller has
// it already.
func sendTagged(w http.ResponseWriter, r *request, status int, body []byte, tag string) {
	w.Header()["Etag"] = []string{tag}
	if known := r.Header["If-None-Match"]; known != nil && readOnly(r.Method) &&
		tagListed(known, func(listed string) bool { return strings.TrimPrefix(listed, "W/") == tag }) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	writeJSON(w, status, body)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentJSON
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may be gone; there is nobody to tell
}

// used is a wire type with parts that change by mere use. withoutUse leaves them
// out.
type used interface{ withoutUse() any }

// entityTag is a strong validator: it changes with every byte of the answer. What
// changes by mere use has a part of its own, after a dot.
func (r *request) entityTag(body any, text []byte) string {
	tag := r.tagOf(text)
	if u, ok := body.(used); ok {
		stable := r.tagOf(encode(u.withoutUse()))
		return stable[:len(stable)-1] + "." + tag[1:]
	}
	return tag
}

// tagLength is how many bytes of a hash a tag has.
const tagLength = 18

// tagOf mixes the workspace in, so that no tenant's tag is another's, not even
// that of an empty list.
func (r *request) tagOf(body []byte) string {
	workspace := r.who.WorkspaceID()
	hash, err := blake2b.New(tagLength, nil) // SHA-256 takes up to three times as long where processors know nothing of it
	if err != nil {
		panic(err) // the length is wrong
	}
	_, _ = hash.Write(workspace[:]) // a hash never fails
	_, _ = hash.Write(body)
	return `"` + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)) + `"`
}

// tagListed tells whether a conditional header lists a tag that will do. What
// comes after something that is no tag is not read.
func tagListed(header []string, does func(tag string) bool) bool {
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
			if does(tag) {
				return true
			}
		}
	}
	return false
}

// blanks are what may stand around a tag.
const blanks = " \t"

// ifMatch is the request's condition on the resource that it changes. Who reads
// an app with its own key moves its tag by that, and must be able to change it.
func ifMatch[T, W any](r *request, wire func(T) W) service.Match[T] {
	header := r.Header.Values("If-Match")
	if len(header) == 0 {
		return nil
	}
	return func(current T) bool {
		body := wire(current)
		tag := r.entityTag(body, encode(body))
		stable, _, _ := strings.Cut(tag, ".")
		return tagListed(header, func(listed string) bool {
			known, _, moves := strings.Cut(listed, ".")
			return listed == tag || (moves && known == stable)
		})
	}
}

// timestamp is a time as answers show it.
type timestamp string

// newTimestamp does without a layout of its own, which time reads anew each time:
// a list of 20 has up to 60 times.
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
