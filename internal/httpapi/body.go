package httpapi

import (
	"bytes"
	"encoding/json"
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
	maxBody  = 1 << 20
	maxDepth = 32
)

// Errors about a body as a whole. They are the edge's own: the domain never
// sees such a request.
var (
	errTooLarge    = &cms.Error{Code: codePayloadTooLarge, Message: "The request body is larger than 1 MiB"}
	errMediaType   = &cms.Error{Code: codeUnsupportedMediaType, Message: "The request body must be JSON with Content-Type application/json"}
	errCompressed  = &cms.Error{Code: codeUnsupportedMediaType, Message: "The request body must not be compressed"}
	errBodyCut     = cms.BadField("body", "could not be read to its end")
	errBodyMissing = cms.BadField("body", "is required")
)

// input reads and decodes a request's body at once, so that no transaction waits
// for that: there may be a hundred thousand things wrong with it. W is the body's
// wire type, a struct of cms.Opt fields.
func input[W, T any](r *request, convert func(W, *cms.Problems) T) service.Input[T] {
	in := decoded(readBody(r), convert)
	_, _ = in() // the service will ask
	return in
}

// noFields is input for requests that take no fields.
func noFields(r *request) service.Empty {
	in := input(r, func(struct{}, *cms.Problems) struct{} { return struct{}{} })
	return func() error {
		_, err := in()
		return err
	}
}

// body is what was read of a request's body.
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

// readBody reads a body of a supported type, or none where none is needed.
func readBody(r *request) body {
	raw, err := readJSON(r)
	return body{raw, err}
}

func readJSON(r *request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, errTooLarge
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, errBodyCut
	case len(raw) > maxBody:
		return nil, errTooLarge
	case len(raw) == 0:
		if !r.endpoint.bodyOptional() {
			return nil, errBodyMissing
		}
		return []byte("{}"), nil
	}
	if len(r.Header.Values("Content-Type")) > 1 || len(r.Header.Values("Content-Encoding")) > 1 {
		return nil, errMediaType // which of them is meant?
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, errCompressed
	}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || (media != "application/json" && (media != "application/merge-patch+json" || r.Method != http.MethodPatch)) {
		return nil, errMediaType
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return nil, errMediaType
	}
	return raw, nil
}

// decodeBody reads one JSON object into a wire type. What is no JSON is an
// error; fields that are wrong are noted as problems.
func decodeBody(raw []byte, wire any, problems *cms.Problems) error {
	if err := checkJSON(raw, problems); err != nil {
		return err
	}
	decodeObject(raw, reflect.ValueOf(wire).Elem(), "", problems)
	return nil
}

// checkJSON refuses what is not exactly one JSON object, and notes doubled keys:
// the standard library is lenient about them, trailing data and broken text.
func checkJSON(raw []byte, problems *cms.Problems) error {
	err := readTokens(raw, jsontext.AllowDuplicateNames(false), func(*jsontext.Decoder, jsontext.Token) {})
	if !errors.Is(err, jsontext.ErrDuplicateName) {
		return err
	}
	// Only now is it worth the trouble to find all of them.
	var names []map[string]bool // by depth
	return readTokens(raw, jsontext.AllowDuplicateNames(true), func(dec *jsontext.Decoder, token jsontext.Token) {
		depth := dec.StackDepth()
		kind, length := dec.StackIndex(depth)
		switch {
		case length == 0: // it has just begun
			names = append(names[:depth-1], map[string]bool{})
		case kind == '{' && length%2 == 1: // a name, and not a value
			if name := token.String(); names[depth-1][name] {
				problems.Add(fieldAt(dec), "must be given once")
			} else {
				names[depth-1][name] = true
			}
		}
	})
}

// readTokens goes through the one JSON object that a text is to be.
func readTokens(raw []byte, doubles jsontext.Options, visit func(*jsontext.Decoder, jsontext.Token)) error {
	dec := takeDecoder(raw, doubles)
	defer decoders.Put(dec)
	if dec.PeekKind() != '{' {
		return cms.BadField("body", "must be a JSON object")
	}
	for {
		token, err := dec.ReadToken()
		if err == nil && dec.StackDepth() > maxDepth {
			return cms.BadField("body", "must not be nested deeper than 32 levels")
		}
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return err
		}
		if err != nil {
			return cms.BadField("body", "must be valid JSON in UTF-8")
		}
		visit(dec, token)
		if dec.StackDepth() == 0 {
			break
		}
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return cms.BadField("body", "must be one JSON object and nothing after it")
	}
	return nil
}

// decoders are kept with the memory that they have taken: there is one for each
// object of a batch.
var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(bytes.NewReader(nil)) }}

// takeDecoder takes one that reads what is known to be well-formed, unless
// there is an option.
func takeDecoder(raw []byte, option ...jsontext.Options) *jsontext.Decoder {
	dec, _ := decoders.Get().(*jsontext.Decoder)
	if option == nil {
		option = doublesKnown
	}
	dec.Reset(bytes.NewReader(raw), option...)
	return dec
}

// doublesKnown lets keys be doubled: that has been noted already.
var doublesKnown = []jsontext.Options{jsontext.AllowDuplicateNames(true)}

// fieldAt is the name of the field that a decoder is at: operations[3].title.
func fieldAt(dec *jsontext.Decoder) string {
	var b strings.Builder
	depth := 0
	for token := range dec.StackPointer().Tokens() {
		depth++
		if kind, _ := dec.StackIndex(depth); kind == '[' {
			fmt.Fprintf(&b, "[%s]", token)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	return shorten(b.String())
}

// shorten keeps a name that a caller made up from filling the answer.
func shorten(name string) string {
	if len(name) > 100 {
		return strings.ToValidUTF8(name[:100], "") + "…"
	}
	return name
}

// decodeObject reads an object, known to be well-formed, into a struct of
// cms.Opt fields. The prefix comes before the names of fields in problems.
func decodeObject(raw []byte, dst reflect.Value, prefix string, problems *cms.Problems) {
	fields := wireFields(dst.Type())
	dec := takeDecoder(raw)
	defer decoders.Put(dec)
	_, _ = dec.ReadToken() // the opening brace
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return
		}
		at, ok := fields[key]
		if !ok {
			problems.Add(prefix+shorten(key), "is not a known field")
			continue
		}
		if message := decodeField(value, dst.FieldByIndex(at), key, problems); message != "" {
			problems.Add(prefix+key, message)
		}
	}
}

// knownFields has what wireFields found out.
var knownFields sync.Map

// wireFields tells where a wire type has the fields of each name, those of
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

// Where a cms.Opt has its fields, whatever it is of.
var optSet, optValue = optField("Set"), optField("Value")

func optField(name string) int {
	f, _ := reflect.TypeFor[cms.Opt[string]]().FieldByName(name)
	return f.Index[0]
}

// decodeField reads a value into a cms.Opt and returns what is wrong with it,
// or "".
func decodeField(raw jsontext.Value, opt reflect.Value, name string, problems *cms.Problems) string {
	dst := opt.Field(optValue)
	if raw.Kind() == 'n' {
		if !nullable(dst.Type()) {
			return "must not be null"
		}
		opt.Field(optSet).SetBool(true)
		return ""
	}
	if dst.Kind() == reflect.Pointer {
		dst.Set(reflect.New(dst.Type().Elem()))
		dst = dst.Elem()
	}
	var message string
	if dst.Kind() == reflect.Slice && dst.Type().Elem().Kind() == reflect.Struct {
		message = decodeList(raw, dst, name, problems)
	} else {
		message = decodeScalar(raw, dst)
	}
	opt.Field(optSet).SetBool(message == "")
	return message
}

// decodeList reads a list of objects. Only a body itself has such lists, so
// that their names need no prefix.
func decodeList(raw jsontext.Value, dst reflect.Value, name string, problems *cms.Problems) string {
	if raw.Kind() != '[' {
		return "must be a list of objects"
	}
	items := listItems(raw)
	if len(items) > cms.MaxBatch {
		return "must have at most 1,000 items" // rather than a thousand details
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(items), len(items)))
	for i, item := range items {
		at := name + "[" + strconv.Itoa(i) + "]"
		if item.Kind() != '{' {
			problems.Add(at, "must be an object")
			continue
		}
		decodeObject(item, dst.Index(i), at+".", problems)
	}
	return ""
}

// listItems are the items of a list that is known to be well-formed.
func listItems(raw jsontext.Value) (items []jsontext.Value) {
	dec := takeDecoder(raw)
	defer decoders.Put(dec)
	_, _ = dec.ReadToken() // the opening bracket
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		end := dec.InputOffset()
		items = append(items, raw[end-int64(len(value)):end]) // the value itself is lost with the next one
	}
	return items
}

// nullable tells whether null clears a field of this type.
func nullable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || (t.Kind() == reflect.Slice && t == reflect.TypeFor[[]cms.ID]())
}

var (
	typeID   = reflect.TypeFor[cms.ID]()
	typeTime = reflect.TypeFor[time.Time]()
)

// timeForm is what RFC 3339 allows; the library also takes a comma.
var timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

func parseTime(text string) (t time.Time, ok bool) {
	if !timeForm.MatchString(text) {
		return t, false
	}
	t, err := time.Parse(time.RFC3339, text)
	t = t.UTC()
	return t, err == nil && t.Year() >= 0 && t.Year() <= 9999 // what can't be answered in UTC can't be kept either
}

func decodeScalar(raw jsontext.Value, dst reflect.Value) string {
	switch dst.Type() {
	case typeID:
		if s, ok := unquote(raw); ok {
			if id, ok := cms.ParseID(s); ok {
				dst.Set(reflect.ValueOf(id))
				return ""
			}
		}
		return mustBeID
	case typeTime:
		if s, ok := unquote(raw); ok {
			if t, ok := parseTime(s); ok {
				dst.Set(reflect.ValueOf(t.Truncate(time.Millisecond)))
				return ""
			}
		}
		return "must be a date and time such as 2030-01-31T12:00:00Z"
	}
	switch dst.Kind() {
	case reflect.Slice:
		return decodeScalars(raw, dst)
	case reflect.String:
		s, ok := unquote(raw)
		if !ok {
			return typeMessages[reflect.String]
		}
		dst.SetString(s)
		return ""
	}
	if !strings.ContainsRune(jsonKinds[dst.Kind()], rune(raw.Kind())) || json.Unmarshal(raw, dst.Addr().Interface()) != nil {
		return typeMessages[dst.Kind()]
	}
	return ""
}

// unquote reads a string.
func unquote(raw jsontext.Value) (s string, ok bool) {
	if raw.Kind() != '"' {
		return "", false
	}
	var room [128]byte
	text, err := jsontext.AppendUnquote(room[:0], raw)
	return string(text), err == nil
}

// jsonKinds are the kinds of JSON values, by first letter, that fit a type.
var jsonKinds = map[reflect.Kind]string{
	reflect.Bool: "tf", reflect.Int: "0", reflect.Float64: "0",
}

var typeMessages = map[reflect.Kind]string{
	reflect.String: "must be a string", reflect.Bool: "must be true or false",
	reflect.Int: "must be an integer", reflect.Float64: "must be a number",
}

func decodeScalars(raw jsontext.Value, dst reflect.Value) string {
	if raw.Kind() != '[' {
		return "must be a list"
	}
	items := listItems(raw)
	dst.Set(reflect.MakeSlice(dst.Type(), len(items), len(items)))
	for i, item := range items {
		if message := decodeScalar(item, dst.Index(i)); message != "" {
			return fmt.Sprintf("item %d %s", i, message)
		}
	}
	return ""
}
