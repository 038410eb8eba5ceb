package bundle

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// parsed is a YAML file whose problems are noted, all of them.
type parsed struct {
	file     string
	problems *problems
}

// parse returns the content of a YAML file, or nil if it has none.
func (f parsed) parse(content []byte) ast.Node {
	file, err := parser.ParseBytes(content, 0)
	switch {
	case err != nil:
		line, message := 0, err.Error()
		var located yaml.Error
		if errors.As(err, &located) {
			message = located.GetMessage()
			if token := located.GetToken(); token != nil {
				line = token.Position.Line
			}
		}
		f.problems.add(f.file, line, "is no YAML: %s", message)
		return nil
	case len(file.Docs) != 1 || file.Docs[0].Body == nil:
		f.problems.add(f.file, 0, "must have one YAML document")
		return nil
	}
	return file.Docs[0].Body
}

func lineOf(n ast.Node) int {
	if token := n.GetToken(); token != nil {
		return token.Position.Line
	}
	return 0
}

// entry is a key of a mapping with its value.
type entry struct {
	key   string
	line  int
	value ast.Node
}

// entries returns the keys of a mapping.
func (f parsed) entries(n ast.Node, what string) []entry {
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		f.problems.add(f.file, lineOf(n), "%s must have fields, one a line", what)
		return nil
	}
	var list []entry
	for _, pair := range pairs {
		key, ok := pair.Key.(*ast.StringNode)
		if !ok {
			f.problems.add(f.file, lineOf(pair.Key), "%s must be the name of a field", pair.Key)
			continue
		}
		list = append(list, entry{key.Value, lineOf(key), pair.Value})
	}
	return list
}

// items returns the items of a list.
func (f parsed) items(n ast.Node, what string) []ast.Node {
	sequence, ok := n.(*ast.SequenceNode)
	if !ok {
		f.problems.add(f.file, lineOf(n), "must be a list of %s; an empty one is []", what)
		return nil
	}
	return sequence.Values
}

// fields reads the fields of a mapping by a schema. handle reads those that no schema has,
// and reports whether it knows them.
func (f parsed) fields(n ast.Node, s schema, what, prefix string, where *source, handle func(entry) bool) values {
	all := values{}
	for _, e := range f.entries(n, what) {
		where.lines[prefix+e.key] = e.line
		if handle != nil && handle(e) {
			continue
		}
		field, ok := s.find(e.key)
		if !ok {
			f.problems.add(f.file, e.line, "%s is no field of %s%s", e.key, what, suggestion(e.key, s))
			continue
		}
		if value, ok := f.value(e, field); ok {
			all[e.key] = value
		}
	}
	for _, field := range s {
		if _, given := where.lines[prefix+field.name]; field.required && !given {
			f.problems.add(f.file, lineOf(n), "%s is required", field.name)
		}
	}
	return all
}

// suggestion names the field that differs only by letter case.
func suggestion(key string, s schema) string {
	for _, f := range s {
		if strings.EqualFold(f.name, key) {
			return ": did you mean " + f.name + "?"
		}
	}
	return ""
}

// value reads one value.
func (f parsed) value(e entry, field field) (any, bool) {
	value, ok := f.convert(e.value)
	if !ok {
		f.problems.add(f.file, e.line, "%s must be %s", e.key, field.kind)
		return nil, false
	}
	if value == nil {
		if field.required {
			f.problems.add(f.file, e.line, "%s must not be null", e.key)
		}
		return nil, !field.required
	}
	got := kindOf(value)
	if got != field.kind {
		hint := ""
		if field.kind == text && got != list {
			hint = fmt.Sprintf(": put it in quotes, %q", e.value.GetToken().Value)
		}
		f.problems.add(f.file, e.line, "%s must be %s%s", e.key, field.kind, hint)
		return nil, false
	}
	var err error
	if field.check != nil {
		err = field.check(value)
	}
	if err == nil && field.parse != nil {
		value, err = field.parse(value.(string))
	}
	if err != nil {
		f.problems.add(f.file, e.line, "%s %v", e.key, err)
		return nil, false
	}
	return value, true
}

func kindOf(value any) kind {
	switch value.(type) {
	case string:
		return text
	case float64:
		return number
	case bool:
		return boolean
	}
	return list
}

// convert returns a scalar or a list of texts, which is sorted, each text once.
func (f parsed) convert(n ast.Node) (any, bool) {
	switch n := n.(type) {
	case *ast.NullNode:
		return nil, true
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.BoolNode:
		return n.Value, true
	case *ast.FloatNode:
		return n.Value, true
	case *ast.IntegerNode:
		return toFloat(n.Value), true
	case *ast.SequenceNode:
		texts := []string{}
		for _, item := range n.Values {
			s, ok := item.(*ast.StringNode)
			if !ok {
				return nil, false
			}
			texts = append(texts, s.Value)
		}
		slices.Sort(texts)
		return slices.Compact(texts), true
	}
	return nil, false
}

func toFloat(n any) float64 { return reflect.ValueOf(n).Convert(reflect.TypeFor[float64]()).Float() }
