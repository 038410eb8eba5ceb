package galley

import "encoding/json"

// Opt is an optional field of a body: absent, which is its zero value, null or a value.
type Opt[T any] struct {
	value T
	state state
}

type state byte

const (
	absent state = iota
	null
	present
)

// Value returns a field with a value.
func Value[T any](v T) Opt[T] { return Opt[T]{v, present} }

// Null returns a field that is null.
func Null[T any]() Opt[T] { return Opt[T]{state: null} }

// Get returns the value of the field, and whether it has one.
func (o Opt[T]) Get() (T, bool) { return o.value, o.state == present }

// IsZero reports whether the field is absent, for the JSON option omitzero.
func (o Opt[T]) IsZero() bool { return o.state == absent }

// IsNull reports whether the field is null.
func (o Opt[T]) IsNull() bool { return o.state == null }

// MarshalJSON encodes the value, or null.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if o.state != present {
		return []byte("null"), nil
	}
	return encode(o.value)
}

// UnmarshalJSON decodes a value, or null.
func (o *Opt[T]) UnmarshalJSON(text []byte) error {
	*o = Opt[T]{state: null}
	if string(text) == "null" {
		return nil
	}
	o.state = present
	return json.Unmarshal(text, &o.value)
}
