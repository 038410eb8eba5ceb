package cms

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxName is the longest name of anything, in characters.
	MaxName = 255
	// MaxText is the longest title, description or URL, in bytes. An index entry of
	// either engine can hold it.
	MaxText = 2048
)

func checkName(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("must not be blank")
	}
	if utf8.RuneCountInString(s) > MaxName {
		return fmt.Errorf("must be at most %d characters", MaxName)
	}
	return checkText(s)
}

func checkText(s string) error {
	if len(s) > MaxText {
		return errors.New("must be at most 2,048 bytes")
	}
	if strings.ContainsRune(s, 0) {
		return errors.New("must not have a NUL character")
	}
	if !utf8.ValidString(s) {
		return errors.New("must be valid UTF-8")
	}
	return nil
}

// Opt is a value that a request may leave out. For a field that may also be
// cleared, T is a pointer: a set Opt with a nil Value clears it.
type Opt[T any] struct {
	Set   bool
	Value T
}

// Some is an Opt that was given.
func Some[T any](v T) Opt[T] { return Opt[T]{Set: true, Value: v} }

// Or returns the value given, or else the default.
func (o Opt[T]) Or(def T) T {
	if o.Set {
		return o.Value
	}
	return def
}

// ApplyTo overwrites dst when the value was given.
func (o Opt[T]) ApplyTo(dst *T) {
	if o.Set {
		*dst = o.Value
	}
}

func equalPtr[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// check notes a problem with a given value.
func check[T any](p *Problems, field string, o Opt[T], rule func(T) error) {
	if !o.Set || p.Has(field) {
		return
	}
	if err := rule(o.Value); err != nil {
		p.Add(field, err.Error())
	}
}

// clean replaces a given value by its normalized form, or notes a problem.
func clean(p *Problems, field string, o *Opt[string], parse func(string) (string, error)) {
	if !o.Set || p.Has(field) {
		return
	}
	v, err := parse(o.Value)
	if err != nil {
		p.Add(field, err.Error())
		return
	}
	o.Value = v
}

// cleanPtr is clean for a value that may be null.
func cleanPtr(p *Problems, field string, o *Opt[*string], parse func(string) (string, error)) {
	if !o.Set || o.Value == nil {
		return
	}
	v := Some(*o.Value)
	clean(p, field, &v, parse)
	o.Value = &v.Value
}

func textRule(s string) (string, error) { return s, checkText(s) }

// required notes that a field is missing.
func required[T any](p *Problems, field string, o Opt[T]) {
	if !o.Set {
		p.Add(field, "is required")
	}
}
