package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	galley "galley/sdk/go"
)

// FieldTypes lets flags be optional fields of the interface: a flag that is not given is
// absent.
var FieldTypes = kong.OptionFunc(func(k *kong.Kong) error {
	for _, option := range []kong.Option{
		optional(func(text string) (string, error) { return text, nil }),
		optional(func(text string) (galley.Frequency, error) { return galley.Frequency(text), nil }),
		optional(func(text string) ([]string, error) { return splitList(text), nil }),
		optional(func(text string) (bool, error) {
			if text != "true" && text != "false" {
				return false, fmt.Errorf("%q is neither true nor false", text)
			}
			return text == "true", nil
		}),
		optional(strconv.Atoi),
		optional(func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }),
		optional(parseTime),
	} {
		if err := option.Apply(k); err != nil {
			return err
		}
	}
	return nil
})

// optional reads a flag of the type Opt[T].
func optional[T any](parse func(string) (T, error)) kong.Option {
	return kong.TypeMapper(reflect.TypeFor[galley.Opt[T]](), kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("value", &text); err != nil {
			return err
		}
		value, err := parse(text)
		if err == nil {
			target.Set(reflect.ValueOf(galley.Value(value)))
		}
		return err
	}))
}

// splitList splits a list at its commas. An empty text is an empty list.
func splitList(text string) []string {
	if text == "" {
		return []string{}
	}
	return strings.Split(text, ",")
}

// localTimes are forms of a time without its zone: it is the local one.
var localTimes = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04", time.DateOnly}

func parseTime(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, form := range localTimes {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: write it like 2030-01-31T12:00:00Z or 2030-01-31 12:00", text)
}

// timeFlag is a flag that is a time.
type timeFlag struct{ time.Time }

// UnmarshalText reads the flag.
func (t *timeFlag) UnmarshalText(text []byte) (err error) {
	t.Time, err = parseTime(string(text))
	return err
}

// clearFlag names fields that an update sets to null.
type clearFlag struct {
	Clear []string `help:"Fields to clear, such as title,description." placeholder:"FIELDS"`
}

// apply sets the fields of a patch to null, and refuses a patch that changes nothing.
func (c clearFlag) apply(patch any) error {
	for _, name := range c.Clear {
		// JSON finds a field in any letter case.
		null := fmt.Sprintf(`{%q: null}`, strings.ReplaceAll(name, "-", ""))
		if err := decodeStrictly([]byte(null), patch); err != nil {
			return usage("--clear: there is no field %q", name)
		}
	}
	if text, err := json.Marshal(patch); err != nil || string(text) == "{}" {
		return usage("nothing to change: give the new values as flags, or --clear FIELDS")
	}
	return nil
}

// convert returns the fields that another type of body has.
func convert[T any](fields any) (body T, err error) {
	text, err := encodeJSON(fields)
	if err != nil {
		return body, err
	}
	if err := decodeStrictly(text, &body); err != nil {
		return body, usage("this can only be changed later, with update: %v", strings.TrimPrefix(err.Error(), "json: "))
	}
	return body, nil
}

func decodeStrictly(text []byte, value any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(value)
}

// seconds returns a duration in whole seconds, as the interface counts.
func seconds(d time.Duration) int { return int(d / time.Second) }
