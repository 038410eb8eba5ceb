package bundle

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	galley "galley/sdk/go"
)

// RefusedError is an error of the service with the files that it is about.
type RefusedError struct {
	lines []string
	err   error
}

func (r *RefusedError) Error() string { return strings.Join(r.lines, "\n") }

// Unwrap returns the error of the service.
func (r *RefusedError) Unwrap() error { return r.err }

// refused says which change the service refuses.
func refused(c Change, err error) error {
	var e *galley.Error
	if !errors.As(err, &e) || len(e.Details) == 0 {
		return &RefusedError{[]string{c.place() + reason(err)}, err}
	}
	var lines []string
	for _, d := range e.Details {
		lines = append(lines, fmt.Sprintf("%s%s %s", c.place(), d.Field, d.Message))
	}
	return &RefusedError{lines, err}
}

// place is where a message about a change begins.
func (c Change) place() string {
	if c.File == "" {
		return fmt.Sprintf("%s %s: ", c.Kind, c.Name)
	}
	return fmt.Sprintf("%s: %s %s: ", c.File, c.Kind, c.Name)
}

// reason is the message of the service, or else the error.
func reason(err error) string {
	var e *galley.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

var operationField = regexp.MustCompile(`^operations\[(\d+)\]\.?(.*)$`)

// explained replaces the operations that an error of a batch names by the changes that they
// are part of.
func explained(err error, changeOf func(operation int) Change) error {
	var e *galley.Error
	if !errors.As(err, &e) {
		return err
	}
	var lines []string
	for _, d := range e.Details {
		m := operationField.FindStringSubmatch(d.Field)
		if m == nil {
			lines = append(lines, d.Field+" "+d.Message)
			continue
		}
		i, err := strconv.Atoi(m[1])
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%s%s: %s", changeOf(i).place(), m[2], d.Message))
	}
	if len(lines) == 0 {
		lines = []string{e.Message}
	}
	return &RefusedError{lines, err}
}
