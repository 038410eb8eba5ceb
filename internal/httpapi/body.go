package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"galley/internal/cms"
	"galley/internal/service"
)

const (
	mebibyte = 1 << 20
	maxDepth = 32
)

// maxBody is the largest body that an endpoint takes, in bytes.
func (a *API) maxBody(e *endpoint) int64 {
	switch e.body {
	case typ[PageBatch](), typ[RedirectBatch]():
		return 8 * mebibyte
	case typ[contentText]():
		return a.maxContent
	}
	return mebibyte
}

// errTooLarge is the error of a body that is larger than so many bytes.
func errTooLarge(most int64) *cms.Error {
	size := fmt.Sprintf("%d bytes", most)
	if most%mebibyte == 0 {
		size = fmt.Sprintf("%d MiB", most/mebibyte)
	}
	return &cms.Error{Code: codePayloadTooLarge, Message: "The request body is larger than " + size}
}

// Errors about a body as a whole.
var (
	errMediaType   = &cms.Error{Code: codeUnsupportedMediaType, Message: "The request body must be JSON with Content-Type application/json"}
	errCompressed  = &cms.Error{Code: codeUnsupportedMediaType, Message: "The request body must not be compressed"}
	errBodyCut     = cms.BadField("body", "could not be read to its end")
	errBodyMissing = cms.BadField("body", "is required")
	errDepth       = cms.BadField("body", "must not be nested deeper than 32 levels")
	errNotJSON     = cms.BadField("body", "must be valid JSON in UTF-8")
)

// input decodes a request's body into W, a struct of cms.Opt fields. It does so
// at once, so that no transaction waits for it.
func input[W, T any](r *request, convert func(W, *cms.Problems) T) service.Input[T] {
	in := decoded(r.jsonBody(), convert)
	_, _ = in() // the service calls it again, and returns the error
	return in
}

// clean cleans a value of the domain and returns it.
func clean[T any, P interface {
	*T
	Clean(p *cms.Problems)
}](p *cms.Problems, value T) T {
	P(&value).Clean(p)
	return value
}

// noFields is input for requests that take no fields.
func noFields(r *request) service.Empty {
	in := input(r, func(struct{}, *cms.Problems) struct{} { return struct{}{} })
	return func() error {
		_, err := in()
		return err
	}
}

// body is a request's body, or why it was not received.
type body struct {
	raw []byte
	err error
}

func decoded[W, T any](b body, convert func(W, *cms.Problems) T) service.Input[T] {
	return sync.OnceValues(func() (T, error) {
		var (
			value    T
			wire     W
			problems cms.Problems
		)
		if b.err != nil {
			return value, b.err
		}
		if err := decodeBody(b.raw, &wire, &problems); err != nil {
			return value, err
		}
		value = convert(wire, &problems)
		return value, problems.Err()
	})
}

// jsonBody checks the media type of the body. An empty body is {} where no field
// is required.
func (r *request) jsonBody() body {
	raw, err := r.body.raw, r.body.err
	switch {
	case err != nil:
		return r.body
	case len(raw) == 0 && !r.endpoint.bodyOptional():
		return body{err: errBodyMissing}
	case len(raw) == 0:
		return body{raw: []byte("{}")}
	}
	if len(r.Header.Values("Content-Type")) > 1 || len(r.Header.Values("Content-Encoding")) > 1 {
		return body{err: errMediaType}
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return body{err: errCompressed}
	}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || (media != "application/json" && (media != "application/merge-patch+json" || r.Method != http.MethodPatch)) {
		return body{err: errMediaType}
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return body{err: errMediaType}
	}
	return r.body
}

// decodeBody reads one JSON object into a wire type, a struct of cms.Opt
// fields. Text that is not one JSON object is an error; fields that are wrong
// are noted as problems.
func decodeBody(raw []byte, wire any, problems *cms.Problems) error {
	d := newDecoder(raw, problems, maxDepth, maxNames)
	if d.PeekKind() != '{' {
		return cms.BadField("body", "must be a JSON object")
	}
	if err := d.object(reflect.ValueOf(wire).Elem(), ""); errors.Is(err, errDepth) {
		return errDepth
	} else if err != nil {
		return errNotJSON
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return cms.BadField("body", "must be one JSON object and nothing after it")
	}
	return nil
}

// decoder reads a body. Its methods return an error only for text that is not
// JSON or nested too deep.
type decoder struct {
	*jsontext.Decoder
	problems     *cms.Problems
	depth, names int // bounds
}

func newDecoder(raw []byte, problems *cms.Problems, depth, names int) decoder {
	return decoder{jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true)), problems, depth, names}
}

// maxNames bounds the names of an object that are remembered to find duplicates.
// No valid object has as many.
const maxNames = 1000

// fields reads an object. The names of its fields in problems begin with prefix,
// and read reads their values.
func (d decoder) fields(prefix string, read func(key, name string) error) error {
	if err := d.open(); err != nil {
		return err
	}
	var seen map[string]bool
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		key := token.String()
		name := prefix + key
		if seen[key] {
			d.problems.Add(name, "must be given once")
			err = d.skip(name)
		} else {
			err = read(key, name)
		}
		if err != nil {
			return err
		}
		if seen == nil {
			seen = map[string]bool{}
		}
		if len(seen) < d.names {
			seen[key] = true
		}
	}
	_, err := d.ReadToken()
	return err
}

// items reads a list. read reads an item.
func (d decoder) items(read func(i int) error) error {
	if err := d.open(); err != nil {
		return err
	}
	for i := 0; d.PeekKind() != ']'; i++ {
		if err := read(i); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// open reads the beginning of an object or list.
func (d decoder) open() error {
	_, err := d.ReadToken()
	if err == nil && d.StackDepth() > d.depth {
		err = errDepth
	}
	return err
}

// skip reads a value that is not used, and notes keys that are given twice.
func (d decoder) skip(name string) error {
	switch d.PeekKind() {
	case '{':
		prefix := name + "."
		if name == "" {
			prefix = ""
		}
		return d.fields(prefix, func(_, name string) error { return d.skip(name) })
	case '[':
		return d.items(func(i int) error {
			if kind := d.PeekKind(); kind == '{' || kind == '[' {
				return d.skip(itemName(name, i))
			}
			_, err := d.ReadToken()
			return err
		})
	}
	_, err := d.ReadToken()
	return err
}

func itemName(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// object reads an object into a struct of cms.Opt fields.
func (d decoder) object(dst reflect.Value, prefix string) error {
	known := wireFields(dst.Type())
	return d.fields(prefix, func(key, name string) error {
		index, ok := known[key]
		if !ok {
			d.problems.Add(name, "is not a known field")
			return d.skip(name)
		}
		opt := dst.FieldByIndex(index)
		good, err := d.value(opt.Field(optValue), name)
		opt.Field(optSet).SetBool(good)
		return err
	})
}

// knownFields caches the results of wireFields.
var knownFields sync.Map

// wireFields returns where a wire type has the field of each name, those of
// embedded structs included.
func wireFields(t reflect.Type) map[string][]int {
	if known, ok := knownFields.Load(t); ok {
		fields, _ := known.(map[string][]int)
		return fields
	}
	fields := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			fields[f.Tag.Get("json")] = f.Index
		}
	}
	knownFields.Store(t, fields)
	return fields
}

// optSet and optValue are where a cms.Opt has its fields.
var optSet, optValue = optField("Set"), optField("Value")

func optField(name string) int {
	f, _ := reflect.TypeFor[cms.Opt[string]]().FieldByName(name)
	return f.Index[0]
}

// value reads a value of any type, or notes a problem with it.
func (d decoder) value(dst reflect.Value, name string) (good bool, err error) {
	var problem string
	kind := d.PeekKind()
	switch t := dst.Type(); {
	case kind == 'n':
		if t.Kind() != reflect.Pointer && t != typ[[]cms.ID]() && t != typ[[]cms.EventType]() {
			problem = "must not be null"
		}
		err = d.skip(name)
	case t.Kind() == reflect.Pointer:
		dst.Set(reflect.New(t.Elem()))
		return d.value(dst.Elem(), name)
	case t == typ[contentText]() && (kind == '{' || kind == '['):
		var text jsontext.Value
		text, err = d.ReadValue()
		dst.SetBytes(bytes.Clone(text))
	case t.Kind() == reflect.Slice && kind == '[':
		problem, err = d.list(dst, name)
	case t.Kind() == reflect.Map && kind == '{':
		problem, err = d.mapping(dst, name)
	case isObject(t) && kind == '{':
		err = d.object(dst, name+".")
	case kind == '{' || kind == '[':
		problem, err = mustBe(t), d.skip(name)
	default:
		var token jsontext.Token
		if token, err = d.ReadToken(); err == nil && !setScalar(dst, token) {
			problem = mustBe(t)
		}
	}
	if problem != "" {
		d.problems.Add(name, problem)
	}
	return problem == "" && err == nil, err
}

func isObject(t reflect.Type) bool { return t.Kind() == reflect.Struct && t != typ[time.Time]() }

// list reads a list. Items that are no objects share one problem.
func (d decoder) list(dst reflect.Value, name string) (problem string, err error) {
	t := dst.Type()
	before := d.problems.Clone()
	dst.Set(reflect.MakeSlice(t, 0, 0))
	err = d.items(func(i int) error {
		if problem != "" {
			return d.skip(name)
		}
		if i == cms.MaxBatch && isObject(t.Elem()) {
			problem = "must have at most 1,000 items"
			return d.skip(name)
		}
		dst.Set(reflect.Append(dst, reflect.Zero(t.Elem())))
		if isObject(t.Elem()) {
			_, err := d.value(dst.Index(i), itemName(name, i))
			return err
		}
		item := d
		item.problems = &cms.Problems{}
		good, err := item.value(dst.Index(i), name)
		if !good {
			problem = fmt.Sprintf("item %d %s", i, mustBe(t.Elem()))
		}
		return err
	})
	if problem != "" {
		*d.problems = before // one detail instead of a thousand
	}
	return problem, err
}

// maxEntries bounds the entries of a mapping, each of which takes more memory
// than its text.
const maxEntries = 100

// mapping reads an object whose keys are not fields.
func (d decoder) mapping(dst reflect.Value, name string) (problem string, err error) {
	before := d.problems.Clone()
	dst.Set(reflect.MakeMap(dst.Type()))
	entry := reflect.New(dst.Type().Elem()).Elem()
	err = d.fields(name+".", func(key, name string) error {
		if dst.Len() == maxEntries {
			problem = "must have at most 100 entries"
			return d.skip(name)
		}
		entry.SetZero()
		_, err := d.value(entry, name)
		dst.SetMapIndex(reflect.ValueOf(key), entry)
		return err
	})
	if problem != "" {
		*d.problems = before
	}
	return problem, err
}

// mustBe says what a value of a type must be.
func mustBe(t reflect.Type) string {
	switch t {
	case typ[cms.ID]():
		return mustBeID
	case typ[time.Time]():
		return "must be a date and time such as 2030-01-31T12:00:00Z"
	case typ[contentText]():
		return mustBeContent
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "must be an object"
	case reflect.Slice:
		if isObject(t.Elem()) {
			return "must be a list of objects"
		}
		return "must be a list"
	case reflect.Bool:
		return "must be true or false"
	case reflect.Int:
		return "must be an integer"
	case reflect.Float64:
		return "must be a number"
	}
	return "must be a string"
}

// setScalar sets a value if the token has its type.
func setScalar(dst reflect.Value, token jsontext.Token) (ok bool) {
	kind, text := token.Kind(), token.String()
	switch v := dst.Addr().Interface().(type) {
	case *cms.ID:
		*v, ok = cms.ParseID(text)
		return ok && kind == '"'
	case *time.Time:
		*v, ok = parseTime(text)
		*v = v.Truncate(time.Millisecond)
		return ok && kind == '"'
	case *bool:
		*v = kind == 't'
		return kind == 't' || kind == 'f'
	case *int:
		n, err := strconv.Atoi(text)
		*v = n
		return err == nil && kind == '0'
	case *float64:
		n, err := strconv.ParseFloat(text, 64)
		*v = n
		return err == nil && kind == '0'
	}
	if kind == '"' && dst.Kind() == reflect.String {
		dst.SetString(text)
		return true
	}
	return false
}

// timeForm is the format of RFC 3339; package time also allows a comma.
var timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

func parseTime(text string) (t time.Time, ok bool) {
	if !timeForm.MatchString(text) {
		return t, false
	}
	t, err := time.Parse(time.RFC3339, text)
	t = t.UTC()
	return t, err == nil && t.Year() >= 0 && t.Year() <= 9999
}
