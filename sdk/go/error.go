package galley

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Code is the kind of an error, for programs.
type Code string

// The codes.
const (
	CodeBadRequest           Code = "bad_request"
	CodeConflict             Code = "conflict"
	CodeForbidden            Code = "forbidden"
	CodeGone                 Code = "gone"
	CodeInternal             Code = "internal_error"
	CodeMethodNotAllowed     Code = "method_not_allowed"
	CodeNotFound             Code = "not_found"
	CodePayloadTooLarge      Code = "payload_too_large"
	CodePreconditionFailed   Code = "precondition_failed"
	CodeTooManyRequests      Code = "too_many_requests"
	CodeUnauthorized         Code = "unauthorized"
	CodeUnavailable          Code = "unavailable"
	CodeUnsupportedMediaType Code = "unsupported_media_type"
)

// Error is an error that the service returned. Use errors.As to get at it.
type Error struct {
	Status     int           `json:"-"` // of the response
	RequestID  string        `json:"-"`
	RetryAfter time.Duration `json:"-"` // 0: the response did not say
	Code       Code          `json:"code"`
	Message    string        `json:"message"`
	Details    []ErrorDetail `json:"details"`
}

// ErrorDetail is what is wrong with one field.
type ErrorDetail struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "galley: %s (%s)", e.Message, e.Code)
	for _, d := range e.Details {
		fmt.Fprintf(&b, "; %s %s", d.Field, d.Message)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " [request %s]", e.RequestID)
	}
	return b.String()
}

// Is reports whether an error has the code of another, so that errors.Is works with
// ErrNotFound and its like.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code && other.Message == ""
}

// Errors to compare with by errors.Is.
var (
	ErrNotFound           = &Error{Code: CodeNotFound}
	ErrConflict           = &Error{Code: CodeConflict}
	ErrPreconditionFailed = &Error{Code: CodePreconditionFailed}
	ErrForbidden          = &Error{Code: CodeForbidden}
	ErrUnauthorized       = &Error{Code: CodeUnauthorized}
)

// newError reads the error of a response. One that does not come from the service, but
// from a proxy, has its status as the message.
func newError(r *http.Response, body []byte) *Error {
	e := &Error{Status: r.StatusCode, RequestID: r.Header.Get("X-Request-Id")}
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(max(seconds, 0)) * time.Second
	}
	if json.Unmarshal(body, e) != nil || e.Code == "" {
		e.Code, e.Message = codeOf(r.StatusCode), r.Status
	}
	return e
}

func codeOf(status int) Code {
	switch status {
	case http.StatusTooManyRequests:
		return CodeTooManyRequests
	case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return CodeUnavailable
	case http.StatusNotFound:
		return CodeNotFound
	case http.StatusUnauthorized:
		return CodeUnauthorized
	case http.StatusForbidden:
		return CodeForbidden
	}
	return CodeInternal
}
