package cms

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
