package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// show prints the response that was kept by raw, if its request succeeded.
func (s *Session) show(err error) error {
	if err != nil {
		return err
	}
	return s.Show(s.body)
}

// done prints a sentence about something that has no answer, unless a program reads.
func (s *Session) done(err error, format string, args ...any) error {
	if err != nil || s.output != "table" {
		return err
	}
	return s.print(fmt.Sprintf(format, args...) + "\n")
}

// printText prints an answer that is not JSON.
func (s *Session) printText(text []byte, err error) error {
	if err != nil {
		return err
	}
	return s.print(string(text))
}

// Show prints a JSON document of the interface in the form that was asked for. A table has
// a line for each field.
func (s *Session) Show(document []byte) error {
	value, err := ordered(document)
	if err != nil {
		return err
	}
	switch s.output {
	case "ids":
		return s.print(cell(field(value, "id"), false) + "\n")
	case "table":
		var rows [][]string
		fields, _ := value.(object)
		for _, f := range fields {
			if f.name != "object" {
				rows = append(rows, []string{heading(f.name), cell(f.value, false)})
			}
		}
		return s.print(layOut(rows, 0)) // a key must not be cut
	}
	return s.encode(document, value)
}

// ShowList prints the items of a list. A table has a column for each of the given fields;
// title=field gives it a title of its own.
func (s *Session) ShowList(list []byte, columns ...string) error {
	value, err := ordered(list)
	if err != nil {
		return err
	}
	items, _ := field(value, "data").([]any)
	switch s.output {
	case "ids":
		var b strings.Builder
		for _, item := range items {
			b.WriteString(cell(identity(item), false) + "\n")
		}
		return s.print(b.String())
	case "table":
		if len(items) == 0 {
			s.note("Nothing found.")
			return nil
		}
		rows := [][]string{nil}
		for _, column := range columns {
			title, _, _ := strings.Cut(column, "=")
			rows[0] = append(rows[0], heading(title))
		}
		for _, item := range items {
			var row []string
			for _, column := range columns {
				_, name, named := strings.Cut(column, "=")
				if !named {
					name = column
				}
				row = append(row, cell(field(item, name), true))
			}
			rows = append(rows, row)
		}
		return s.print(layOut(rows, s.width()))
	}
	return s.encode(list, value)
}

// encode prints JSON as the server sent it, indented on a terminal, or YAML.
func (s *Session) encode(document []byte, value any) error {
	if s.output == "yaml" {
		var b strings.Builder
		writeYAML(&b, value, "")
		return s.print(b.String())
	}
	var b bytes.Buffer
	if !isTerminal(s.Out) {
		b.Write(document)
	} else if err := json.Indent(&b, document, "", "  "); err != nil {
		return err
	}
	return s.print(strings.TrimSuffix(b.String(), "\n") + "\n")
}

// object is a JSON object with the order of its fields.
type object []member

type member struct {
	name  string
	value any
}

// ordered decodes JSON. Its values are nil, bool, json.Number, string, []any and object.
func ordered(document []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	value, err := orderedValue(d)
	if err != nil {
		return nil, fmt.Errorf("the response is not understood: %w", err)
	}
	return value, nil
}

func orderedValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		fields := object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := orderedValue(d)
			if err != nil {
				return nil, err
			}
			fields = append(fields, member{name.(string), value})
		}
		_, err = d.Token() // the end
		return fields, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := orderedValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

// field returns a field of an object, whose name may be a path such as actor.name.
func field(value any, name string) any {
	for part := range strings.SplitSeq(name, ".") {
		fields, _ := value.(object)
		value = nil
		for _, f := range fields {
			if f.name == part {
				value = f.value
			}
		}
	}
	return value
}

// identity returns what other commands call an item by.
func identity(item any) any {
	if id := field(item, "id"); id != nil {
		return id
	}
	return field(item, "pathname")
}

// heading returns the name of a field as a heading: publishedAt is PUBLISHED AT.
func heading(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == '.':
			r = ' '
		case unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(name[i-1])):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// cell returns a value as a table shows it; short leaves out the seconds of times.
func cell(value any, short bool) string {
	switch v := value.(type) {
	case nil:
		return "-"
	case string:
		if t, err := time.Parse(time.RFC3339, v); err == nil && strings.HasSuffix(v, "Z") {
			if short {
				return t.Local().Format("2006-01-02 15:04")
			}
			return t.Local().Format(time.DateTime)
		}
		return printable(v)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []any:
		words := make([]string, len(v))
		for i, item := range v {
			words[i] = cell(item, short)
		}
		if len(words) == 0 {
			return "-"
		}
		return strings.Join(words, ", ")
	case object:
		if field(v, "object") != nil && field(v, "id") != nil {
			return cell(field(v, "id"), short) // a resource of its own
		}
		words := make([]string, len(v))
		for i, f := range v {
			words[i] = fmt.Sprintf("%s: %s", f.name, cell(f.value, short))
		}
		return "{" + strings.Join(words, ", ") + "}"
	}
	return fmt.Sprint(value)
}

// printable quotes a text with control characters, which could act on a terminal.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// encodeJSON encodes a value as the server does, with < and its like as they are.
func encodeJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return b.Bytes(), err
}
