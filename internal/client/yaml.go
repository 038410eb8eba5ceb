package client

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// plainText matches texts that YAML takes for nothing else without quotes, but for words.
var (
	plainText = regexp.MustCompile(`^[\pL/](?:[\pL\pM\pN /_.,()!?&+=%@;*~<>-]|:[\pL\pN/])*$`)
	words     = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|off|y|n)$| $`)
)

// writeYAML writes a value of ordered as YAML. The library that reads YAML here writes some
// texts in a form that it reads as something else.
func writeYAML(b *strings.Builder, value any, indent string) {
	switch v := value.(type) {
	case object:
		for _, f := range v {
			b.WriteString(indent + yamlText(f.name) + ":")
			writeInner(b, f.value, indent)
		}
	case []any:
		for _, item := range v {
			b.WriteString(indent + "-")
			if isEmpty(item) {
				writeInner(b, item, indent)
				continue
			}
			// The first line of an object or list stands beside the dash.
			var inner strings.Builder
			writeYAML(&inner, item, indent+"  ")
			b.WriteString(" " + strings.TrimPrefix(inner.String(), indent+"  "))
		}
	default:
		b.WriteString(scalarYAML(v) + "\n")
	}
}

// writeInner writes what follows the name of a field.
func writeInner(b *strings.Builder, value any, indent string) {
	if isEmpty(value) {
		b.WriteString(" " + scalarYAML(value) + "\n")
		return
	}
	b.WriteString("\n")
	if _, ok := value.(object); ok {
		indent += "  "
	}
	writeYAML(b, value, indent)
}

// isEmpty reports whether a value takes no lines of its own.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case object:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return true
}

func scalarYAML(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return yamlText(v)
	case object:
		return "{}"
	case []any:
		return "[]"
	case json.Number:
		digits, exponent, found := strings.Cut(strings.ToLower(v.String()), "e")
		if found && !strings.Contains(digits, ".") {
			return digits + ".0e" + exponent // without a dot, some readers take it for a text
		}
	}
	return fmt.Sprint(value)
}

func yamlText(text string) string {
	if idForm.MatchString(text) || plainText.MatchString(text) && !words.MatchString(text) {
		return text
	}
	return strconv.Quote(text) // YAML has every escape of Go
}
