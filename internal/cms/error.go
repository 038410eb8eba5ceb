package cms

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Code is the machine-readable kind of an error, as the interface spells it.
type Code string

// The codes that the domain itself can answer with.
const (
	CodeBadRequest         Code = "bad_request"
	CodeUnauthorized       Code = "unauthorized"
	CodeForbidden          Code = "forbidden"
	CodeNotFound           Code = "not_found"
	CodeConflict           Code = "conflict"
	CodePreconditionFailed Code = "precondition_failed"
	CodeUnavailable        Code = "unavailable"
)

// Detail tells what is wrong with one field of a request.
type Detail struct {
	Field   string
	Message string
}

// Error is an answer that the caller is meant to see. Any other error is a
// fault of the service, logged at the edge and never shown.
type Error struct {
	Code    Code
	Message string
	Details []Detail
	cause   error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Code, e.Message)
	for _, d := range e.Details {
		fmt.Fprintf(&b, "; %s: %s", d.Field, d.Message)
	}
	if e.cause != nil {
		fmt.Fprintf(&b, " (%v)", e.cause)
	}
	return b.String()
}

// Unwrap gives the cause, which is for the log alone.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf returns the code of a domain error, or "" for any other error.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// Kind names a resource type, as the `object` field spells it.
type Kind string

// The kinds of resources.
const (
	KindWorkspace Kind = "workspace"
	KindApp       Kind = "app"
	KindSite      Kind = "site"
	KindLocale    Kind = "locale"
	KindPage      Kind = "page"
	KindRoute     Kind = "route"
	KindPublish   Kind = "publish"
	KindAudit     Kind = "auditEntry"
	KindAnswer    Kind = "answer" // never shown
)

// NotFound says that a resource of this kind does not exist.
func NotFound(kind Kind) *Error {
	name := strings.ToUpper(string(kind[:1])) + string(kind[1:])
	return &Error{Code: CodeNotFound, Message: name + " not found"}
}

// Conflict says that the state of things does not allow the request.
func Conflict(message string) *Error { return &Error{Code: CodeConflict, Message: message} }

// ErrPathnameTaken answers a pathname that another page or route holds.
var ErrPathnameTaken = Conflict("A page or route with this pathname already exists")

// Forbidden says that the credential lacks a right.
func Forbidden(message string) *Error { return &Error{Code: CodeForbidden, Message: message} }

// ErrUnauthorized answers every key that is missing, malformed, unknown,
// revoked or expired alike, so that the answer tells nothing about keys.
var ErrUnauthorized = &Error{Code: CodeUnauthorized, Message: "The API key is missing or invalid"}

// ErrPreconditionFailed answers an If-Match that no longer holds.
var ErrPreconditionFailed = &Error{
	Code:    CodePreconditionFailed,
	Message: "The resource has changed since the version named in If-Match",
}

// Unavailable wraps a cause that is likely to pass: a store out of reach.
func Unavailable(cause error) *Error {
	return &Error{Code: CodeUnavailable, Message: "The service can't answer right now, try again shortly", cause: cause}
}

// BadField is a bad request with one detail.
func BadField(field, message string) *Error {
	var p Problems
	p.Add(field, message)
	return p.err()
}

// Problems gathers what is wrong with a request, so that the caller learns
// all of it at once. The zero value is ready to use.
type Problems struct {
	details []Detail
	noted   map[string]bool
}

// Add notes a problem with a field. The first one noted for a field stays.
func (p *Problems) Add(field, message string) {
	if p.Has(field) {
		return
	}
	if p.noted == nil {
		p.noted = map[string]bool{}
	}
	p.noted[field] = true
	p.details = append(p.details, Detail{field, message})
}

// Has tells whether a problem with this field was noted.
func (p *Problems) Has(field string) bool { return p.noted[field] }

// Nest adds the problems of a part of the request under a prefix.
func (p *Problems) Nest(prefix string, part Problems) {
	part.sort()
	for _, d := range part.details {
		p.Add(prefix+d.Field, d.Message)
	}
}

// Merge adds the problems that a bad request tells of, and returns any other
// error as it is.
func (p *Problems) Merge(prefix string, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != CodeBadRequest {
		return err
	}
	p.Nest(prefix, Problems{details: slices.Clone(e.Details)})
	return nil
}

// Err returns nil when nothing is wrong, or the bad request that tells of
// every problem, ordered by field.
func (p *Problems) Err() error {
	if len(p.details) == 0 {
		return nil
	}
	return p.err()
}

func (p *Problems) err() *Error {
	p.sort()
	return &Error{Code: CodeBadRequest, Message: "The request is invalid", Details: p.details}
}

// Conflict is Err for problems with the state of things rather than with the
// request.
func (p *Problems) Conflict(message string) error {
	p.sort()
	return &Error{Code: CodeConflict, Message: message, Details: p.details}
}

func (p *Problems) sort() {
	keys := make(map[string]string, len(p.details))
	for _, d := range p.details {
		keys[d.Field] = sortable(d.Field)
	}
	slices.SortStableFunc(p.details, func(a, b Detail) int { return strings.Compare(keys[a.Field], keys[b.Field]) })
}

var index = regexp.MustCompile(`\[(\d+)\]`)

// sortable is a field's name with its indexes padded, so that the tenth comes
// after the second.
func sortable(field string) string {
	if !strings.Contains(field, "[") {
		return field
	}
	return index.ReplaceAllStringFunc(field, func(s string) string { return fmt.Sprintf("%12s", s) })
}
