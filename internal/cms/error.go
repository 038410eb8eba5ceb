package cms

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Code is the machine-readable kind of an error, as the interface spells it.
type Code string

// The codes of the domain.
const (
	CodeBadRequest         Code = "bad_request"
	CodeUnauthorized       Code = "unauthorized"
	CodeForbidden          Code = "forbidden"
	CodeNotFound           Code = "not_found"
	CodeConflict           Code = "conflict"
	CodeGone               Code = "gone"
	CodePreconditionFailed Code = "precondition_failed"
	CodeUnavailable        Code = "unavailable"
)

// Detail is what is wrong with one field of a request.
type Detail struct {
	Field   string
	Message string
}

// Error is an error for the caller. Any other error is a fault of the service,
// which is logged and never shown.
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

// Unwrap returns the cause, which is logged and never shown.
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
	KindRedirect  Kind = "redirect"
	KindPublish   Kind = "publish"
	KindContent   Kind = "content"
	KindPreview   Kind = "preview"
	KindWebhook   Kind = "webhook"
	KindDelivery  Kind = "delivery"
	KindAudit     Kind = "auditEntry"
	KindEvent     Kind = "event"
	KindAnswer    Kind = "answer" // never shown
)

// NotFound says that a resource of this kind does not exist.
func NotFound(kind Kind) *Error {
	name := strings.ToUpper(string(kind[:1])) + string(kind[1:])
	return &Error{Code: CodeNotFound, Message: name + " not found"}
}

// Conflict says that the state of the resource does not allow the request.
func Conflict(message string) *Error { return &Error{Code: CodeConflict, Message: message} }

// ErrPathnameTaken is the error for a pathname that another page or route holds.
var ErrPathnameTaken = Conflict("A page or route with this pathname already exists")

// ErrRedirectTaken is the error for a source that another redirect has.
var ErrRedirectTaken = Conflict("A redirect with this source already exists")

// Forbidden says that the credential lacks a right.
func Forbidden(message string) *Error { return &Error{Code: CodeForbidden, Message: message} }

// ErrUnauthorized is the error for every missing, malformed, unknown, revoked or
// expired key, so that it reveals nothing about keys.
var ErrUnauthorized = &Error{Code: CodeUnauthorized, Message: "The API key is missing or invalid"}

// ErrPreconditionFailed is the error for an If-Match that no longer holds.
var ErrPreconditionFailed = &Error{Code: CodePreconditionFailed, Message: "The resource has changed since the version named in If-Match"}

// Unavailable wraps a temporary cause, such as a store that can't be reached.
func Unavailable(cause error) *Error {
	return &Error{Code: CodeUnavailable, Message: "The service can't answer right now, try again shortly", cause: cause}
}

// BadField is a bad request with one detail.
func BadField(field, message string) *Error {
	var p Problems
	p.Add(field, message)
	return p.As(ErrInvalid)
}

// ErrInvalid is a bad request without details.
var ErrInvalid = &Error{Code: CodeBadRequest, Message: "The request is invalid"}

const (
	// MaxDetails is the largest number of fields that an error names.
	MaxDetails = 100
	// maxField bounds the name of a field, which may be unknown.
	maxField = 100
)

// Problems collects what is wrong with a request, for one error. It keeps the first
// MaxDetails in field order and counts the rest. The zero value is ready to use.
type Problems struct {
	prefix string
	found  *found
}

// found is what Problems and the Problems of its parts share.
type found struct {
	details []Detail // ordered by field, each field once
	more    int
}

// In returns Problems that adds to p and puts a prefix before every field.
func (p *Problems) In(prefix string) *Problems {
	if p.found == nil {
		p.found = &found{}
	}
	return &Problems{p.prefix + prefix, p.found}
}

// Add notes a problem with a field. Only the first one of a field is kept.
func (p *Problems) Add(field, message string) {
	f := p.In("").found
	field, i, known := p.find(field)
	switch {
	case known:
		return
	case i == MaxDetails:
		f.more++
		return
	case len(f.details) == MaxDetails:
		f.details = f.details[:MaxDetails-1]
		f.more++
	}
	f.details = slices.Insert(f.details, i, Detail{field, message})
}

// Has reports whether a problem with this field is kept.
func (p *Problems) Has(field string) bool {
	_, _, known := p.find(field)
	return known
}

// find returns the full name of a field and its place among the details.
func (p *Problems) find(field string) (name string, i int, known bool) {
	name = p.prefix + field
	if len(name) > maxField {
		name = strings.ToValidUTF8(name[:maxField], "") + "…"
	}
	if p.found == nil {
		return name, 0, false
	}
	i, known = slices.BinarySearchFunc(p.found.details, name, func(d Detail, name string) int { return compareFields(d.Field, name) })
	return name, i, known
}

// Clone returns a copy that can be added to separately.
func (p *Problems) Clone() Problems {
	if p.found == nil {
		return *p
	}
	return Problems{p.prefix, &found{slices.Clone(p.found.details), p.found.more}}
}

// Err returns nil if nothing is wrong, or else a bad request with the details.
func (p *Problems) Err() error {
	if p.found == nil || len(p.found.details) == 0 {
		return nil
	}
	return p.As(ErrInvalid)
}

// As returns a copy of an error with the problems as its details.
func (p *Problems) As(e *Error) *Error {
	f, with := p.In("").found, *e
	with.Details = slices.Clone(f.details)
	switch n := f.more; {
	case n == 1:
		with.Details = append(with.Details, Detail{"body", "and 1 more problem"})
	case n > 1:
		with.Details = append(with.Details, Detail{"body", fmt.Sprintf("and %d more problems", n)})
	}
	return &with
}

// compareFields orders fields by name, and the items of a list by number.
func compareFields(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if strings.HasSuffix(strings.TrimRight(a[:i], digits), "[") {
		if order := cmp.Compare(leadingDigits(a[i:]), leadingDigits(b[i:])); order != 0 {
			return order
		}
	}
	return strings.Compare(a[i:], b[i:])
}

const digits = "0123456789"

func leadingDigits(s string) int { return len(s) - len(strings.TrimLeft(s, digits)) }
