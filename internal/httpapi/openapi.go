package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"galley/internal/cms"
	"galley/internal/service"
)

// schema is a JSON schema, or any other object of the document.
type schema map[string]any

var (
	idSchema   = schema{"type": "string", "format": "uuid", "example": "01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b"}
	timeSchema = schema{"type": "string", "format": "date-time", "example": "2030-01-31T12:00:00.000Z"}
)

// Document returns the OpenAPI 3.1 document, generated from the route table and
// the wire types.
func Document(version string) []byte {
	g := generator{schemas: schema{}}
	paths := map[string]schema{}
	for _, e := range (&API{}).endpoints() {
		if paths[e.path()] == nil {
			paths[e.path()] = schema{}
		}
		paths[e.path()][strings.ToLower(e.method)] = g.operation(e)
	}
	maps.Copy(paths, g.operations())
	doc := schema{
		"openapi": "3.1.0",
		"info": schema{
			"title": "Galley", "version": version, "description": documentText,
			"license": schema{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"contact": schema{"name": "The Galley project"},
		},
		"servers":  []schema{{"url": "/"}},
		"security": []schema{{"apiKey": []string{}}},
		"tags":     documentTags,
		"paths":    paths,
		"components": schema{
			"schemas": g.schemas,
			"securitySchemes": schema{
				"apiKey": schema{"type": "apiKey", "in": "header", "name": "x-api-key", "description": "An App API key (sk_…), a Site API key (a UUID) or the token of a preview (pv_…). The header `Authorization: Bearer` takes the same keys instead."},
			},
			"responses": g.errorResponses(),
			"headers":   headerSchemas,
		},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// generator collects the schemas of named types.
type generator struct{ schemas schema }

func ref(kind, name string) schema { return schema{"$ref": "#/components/" + kind + "/" + name} }

func (g generator) operation(e *endpoint) schema {
	text := endpointTexts[e.name]
	who := "App keys with scope `" + string(e.scope) + "`"
	switch {
	case e.scope == siteKeysOnly:
		who = "the site's own Site key"
	case e.audience == anyKey:
		who = "any key"
	case e.audience == siteKeyToo:
		who += ", and the site's own Site key"
	case e.audience == previewToo:
		who += ", and the site's own Site key and previews"
	}
	op := schema{
		"operationId": e.name,
		"summary":     text.summary,
		"description": strings.TrimSpace(text.detail + "\n\nFor " + who + "."),
		"tags":        []string{text.tag},
		"parameters":  g.parameters(e),
		"responses":   g.responses(e),
	}
	if e.body != nil {
		// Without an example, the reference would send every field.
		body := schema{"schema": g.of(e.body), "example": bodyExamples[e.name]}
		content := schema{"application/json": body}
		if e.method == http.MethodPatch {
			content["application/merge-patch+json"] = body
		}
		op["requestBody"] = schema{"required": !e.bodyOptional(), "content": content}
	}
	return op
}

// operations documents the paths for operators, and those that need no key.
func (g generator) operations() map[string]schema {
	const public, forOperators = false, true
	text, status, onlyGet := schema{"type": "string"}, g.of(typ[Status]()), []int{405}
	operations := map[string]schema{}
	for _, o := range []struct {
		path, name, summary, detail, mediaType string
		content                                schema
		operator                               bool
		errors                                 []int
	}{
		{"/healthz", "getHealth", "Check that the process runs", "Does not use the store.", "application/json", status, public, onlyGet},
		{"/readyz", "getReadiness", "Check that the server can take requests", "Returns 503 while the store does not answer or the server stops.", "application/json", status, public, []int{405, 503}},
		{"/openapi.json", "getDocument", "Get this document", "Returns the document of the version that runs.", "application/json", schema{"type": "object"}, public, onlyGet},
		{"/docs", "getReference", "Show this document in a browser", "Returns a page that loads nothing from elsewhere.", "text/html", text, public, onlyGet},
		{"/metrics", "getMetrics", "Get metrics for Prometheus", "", "text/plain", text, forOperators, usualErrors},
		{"/debug/pprof/{profile}", "getProfile", "Get a profile of the program", "Returns a profile for `go tool pprof`: heap, goroutine, allocs, profile and others.", "application/octet-stream", schema{"type": "string", "format": "binary"}, forOperators, append(slices.Clone(usualErrors), 404)},
	} {
		success := schema{"description": "OK", "content": schema{o.mediaType: schema{"schema": o.content}}, "headers": schema{"X-Request-Id": ref("headers", "X-Request-Id")}}
		op := schema{"operationId": o.name, "summary": o.summary, "description": o.detail, "tags": []string{"Operations"}, "responses": schema{"200": success}}
		addErrors(op["responses"].(schema), o.errors)
		if params := g.pathParameters(o.path); params != nil {
			op["parameters"] = params
		}
		if o.operator {
			op["description"], success["headers"] = strings.TrimSpace(o.detail+"\n\nFor App keys with scope `operator`."), commonHeaders()
		} else {
			op["security"] = []schema{}
		}
		operations[o.path] = schema{"get": op}
	}
	return operations
}

// usualErrors are the error statuses of every endpoint that needs a key.
var usualErrors = []int{400, 401, 403, 429, 500, 503}

func addErrors(responses schema, statuses []int) {
	for _, status := range statuses {
		responses[strconv.Itoa(status)] = ref("responses", errorName(status))
	}
}

func (g generator) parameters(e *endpoint) []schema {
	params := g.pathParameters(e.path())
	for _, p := range e.params {
		s := maps.Clone(p.schema)
		if !p.required {
			delete(s, "example") // the reference would send it
		}
		params = append(params, schema{"name": p.name, "in": "query", "required": p.required, "description": p.doc, "schema": s})
	}
	for _, header := range headerParams[e.method] {
		params = append(params, schema{"name": header.name, "in": "header", "required": false, "description": header.doc, "schema": header.schema})
	}
	return params
}

func (g generator) pathParameters(path string) (params []schema) {
	for segment := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			params = append(params, schema{"name": name, "in": "path", "required": true, "description": pathParams[name].doc, "schema": pathParams[name].schema})
		}
	}
	return params
}

// commonHeaders are the headers of every authenticated response.
func commonHeaders() schema {
	headers := schema{}
	for _, name := range []string{"X-Request-Id", "RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		headers[name] = ref("headers", name)
	}
	return headers
}

func (g generator) responses(e *endpoint) schema {
	headers := commonHeaders()
	success := schema{"description": http.StatusText(e.status), "headers": headers}
	if e.response != nil {
		success["content"] = schema{mediaOf(e.response): schema{"schema": g.of(e.response)}}
		if e.tagged() {
			headers["ETag"] = ref("headers", "ETag")
		}
	}
	responses := schema{strconv.Itoa(e.status): success}
	if e.status == http.StatusCreated {
		headers["Location"] = ref("headers", "Location")
	}
	if e.response == typ[Publish]() && e.status == http.StatusCreated {
		alike := maps.Clone(headers)
		delete(alike, "Location")
		responses["200"] = schema{"description": "Nothing to publish", "content": success["content"], "headers": alike}
		if e.name == "publishSite" {
			either := schema{"oneOf": []schema{g.of(e.response), g.of(typ[PublishDryRun]())}}
			responses["200"] = schema{"description": "Nothing to publish, or a dry run", "content": schema{"application/json": schema{"schema": either}}, "headers": alike}
		}
	}
	if e.name == "discardPage" || e.name == "discardRedirect" {
		responses["204"] = schema{"description": "The page was never live and is deleted", "headers": commonHeaders()}
	}
	if e.method == http.MethodGet && e.tagged() {
		responses["304"] = schema{"description": http.StatusText(http.StatusNotModified), "headers": headers}
	}
	addErrors(responses, e.failures())
	return responses
}

// mediaOf is the media type of a response.
func mediaOf(t reflect.Type) string {
	media, _, _ := strings.Cut(mediaTypes[t], ";")
	return cmp.Or(media, "application/json")
}

var mediaTypes = map[reflect.Type]string{typ[XMLDocument](): mediaXML, typ[TextDocument](): mediaText, typ[EventStream](): mediaStream}

// failures are the error statuses of an endpoint.
func (e *endpoint) failures() []int {
	list := slices.Clone(usualErrors)
	if e.name != "getCredential" && e.name != "getWorkspace" && e.name != "listApps" {
		list = append(list, 404)
	}
	if e.method == http.MethodPost || e.body != nil {
		list = append(list, 413, 415)
	}
	if e.method != http.MethodGet || e.name == "resolveUrl" || e.name == "getSitemap" || e.name == "getRobots" {
		list = append(list, 409)
	}
	if e.method == http.MethodPatch || e.method == http.MethodDelete || e.method == http.MethodPut {
		list = append(list, 412)
	}
	if strings.HasSuffix(e.name, "Events") {
		list = append(list, 410)
	}
	return list
}

func errorName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

func (g generator) errorResponses() schema {
	responses := schema{}
	for code, status := range statuses {
		r := schema{
			"description": fmt.Sprintf("%s (`%s`)", http.StatusText(status), code),
			"headers":     commonHeaders(),
			"content":     schema{"application/json": schema{"schema": g.of(typ[Error]())}},
		}
		if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
			r["headers"].(schema)["Retry-After"] = ref("headers", "Retry-After")
		}
		responses[errorName(status)] = r
	}
	return responses
}

// of is the schema of a wire type; structs are named and referred to.
func (g generator) of(t reflect.Type) schema {
	if s, ok := scalarSchemas[t]; ok {
		return s
	}
	if s, ok := namedScalars[t]; ok {
		g.schemas[t.Name()] = s
		return ref("schemas", t.Name())
	}
	if t == typ[PageResult]() {
		return schema{"anyOf": []schema{g.of(typ[Page]()), g.of(typ[DeletedPage]())}}
	}
	if t == typ[RedirectResult]() {
		return schema{"anyOf": []schema{g.of(typ[Redirect]()), g.of(typ[DeletedRedirect]())}}
	}
	if name, ok := kindNames[t.Kind()]; ok {
		return schema{"type": name}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return withNull(g.of(t.Elem()))
	case reflect.Slice:
		return schema{"type": "array", "items": g.of(t.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": g.of(t.Elem())}
	case reflect.Struct:
		if strings.HasPrefix(t.Name(), "Opt[") {
			return g.of(t.Field(1).Type)
		}
		name := schemaName(t)
		if _, ok := g.schemas[name]; !ok {
			g.schemas[name] = schema{} // a type may refer to itself
			g.schemas[name] = g.object(t)
			if variants, ok := operationFields[t]; ok {
				g.schemas[name] = g.oneOf(name, variants)
			}
		}
		return ref("schemas", name)
	}
	panic("no schema for " + t.String())
}

// operationFields are the fields that each operation of a batch takes, and those that
// it must have.
var operationFields = map[reflect.Type]map[cms.BatchOp]operationShape{
	typ[PageOperation](): {
		cms.OpCreate: {without: []string{"pageId", "locale"}, required: []string{"op", "pathname"}},
		cms.OpUpdate: {without: []string{"localizations"}, required: []string{"op"}},
		cms.OpDelete: {only: []string{"op", "pageId", "pathname", "locale"}, required: []string{"op"}},
	},
	typ[RedirectOperation](): {
		cms.OpCreate: {without: []string{"redirectId"}, required: []string{"op", "source", "target"}},
		cms.OpUpdate: {required: []string{"op"}},
		cms.OpDelete: {only: []string{"op", "redirectId", "source", "locale"}, required: []string{"op"}},
	},
}

type operationShape struct{ without, only, required []string }

// oneOf splits the schema of an operation by what it does.
func (g generator) oneOf(name string, shapes map[cms.BatchOp]operationShape) schema {
	whole := g.schemas[name].(schema)
	var variants []schema
	mapping := schema{}
	for _, op := range cms.BatchOps {
		shape, properties := shapes[op], schema{}
		for field, s := range whole["properties"].(schema) {
			if !slices.Contains(shape.without, field) && (shape.only == nil || slices.Contains(shape.only, field)) {
				properties[field] = s
			}
		}
		kind := maps.Clone(properties["op"].(schema))
		delete(kind, "enum")
		kind["const"], kind["example"] = op, op
		properties["op"] = kind
		variant := strings.ToUpper(string(op[:1])) + string(op[1:]) + name
		g.schemas[variant] = schema{"type": "object", "properties": properties, "required": shape.required, "additionalProperties": false}
		variants = append(variants, ref("schemas", variant))
		mapping[string(op)] = "#/components/schemas/" + variant
	}
	return schema{"oneOf": variants, "discriminator": schema{"propertyName": "op", "mapping": mapping}}
}

// schemaName is the Go name of a type; a list is named after its items.
func schemaName(t reflect.Type) string {
	if name, ok := strings.CutPrefix(t.Name(), "List["); ok {
		name = strings.TrimSuffix(name, "]")
		return name[strings.LastIndexByte(name, '.')+1:] + "List"
	}
	return t.Name()
}

// object is the schema of a struct: bodies are structs of cms.Opt fields, and
// take no others.
func (g generator) object(t reflect.Type) schema {
	properties := schema{}
	isBody := false
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		s := maps.Clone(g.of(f.Type))
		isOpt := strings.HasPrefix(f.Type.Name(), "Opt[")
		isBody = isBody || isOpt
		if f.Tag.Get("nullable") == "true" {
			s = withNull(s)
		}
		applyTags(s, f.Tag)
		if value, ok := f.Tag.Lookup("default"); ok && isOpt { // some generators require fields that have a default
			delete(s, "default")
			s["description"] = fmt.Sprintf("%s The default is `%s`.", s["description"], value)
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		properties[name] = s
	}
	o := schema{"type": "object", "properties": properties}
	if req := requiredFields(t); len(req) > 0 {
		o["required"] = req
	}
	if isBody {
		o["additionalProperties"] = false
	}
	return o
}

// requiredFields are those that a response always has, or a body must have.
func requiredFields(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		isOpt := strings.HasPrefix(f.Type.Name(), "Opt[")
		if !f.Anonymous && options == "" && (!isOpt || f.Tag.Get("required") == "true") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// applyTags adds a field's tags to its schema.
func applyTags(s schema, tag reflect.StructTag) {
	if doc := tag.Get("doc"); doc != "" {
		s["description"] = doc
	}
	if enum := tag.Get("enum"); enum != "" {
		s["enum"], s["example"] = []string{enum}, enum
		var numbers []int
		if json.Unmarshal([]byte("["+enum+"]"), &numbers) == nil {
			s["enum"] = numbers
		}
	}
	if tag.Get("const") == "true" {
		s["const"] = true
	}
	isText := strings.Contains(fmt.Sprint(s["type"]), "string")
	for _, key := range []string{"format", "example", "default", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"} {
		text, ok := tag.Lookup(key)
		if !ok {
			continue
		}
		var number any
		if isText && !strings.HasSuffix(key, "Length") || json.Unmarshal([]byte(text), &number) != nil {
			s[key] = text
		} else {
			s[key] = number
		}
	}
}

// withNull returns a schema that also allows null.
func withNull(s schema) schema {
	if s["$ref"] != nil {
		return schema{"anyOf": []schema{s, {"type": "null"}}}
	}
	s = maps.Clone(s)
	if choices, ok := s["anyOf"].([]schema); ok {
		s["anyOf"] = append(slices.Clone(choices), schema{"type": "null"})
	}
	switch kind := s["type"].(type) {
	case string:
		s["type"] = []string{kind, "null"}
	case []string:
		s["type"] = append(slices.Clone(kind), "null")
	}
	if enum, ok := s["enum"].([]any); ok {
		s["enum"] = append(slices.Clone(enum), nil)
	}
	return s
}

var kindNames = map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Float64: "number"}

// scalarSchemas are the schemas of types that are not named in the document.
var scalarSchemas = map[reflect.Type]schema{
	typ[cms.ID]():                 idSchema,
	typ[timestamp]():              timeSchema,
	typ[time.Time]():              timeSchema,
	typ[json.RawMessage]():        {"type": "object", "additionalProperties": true},
	typ[contentText]():            {"anyOf": []schema{{"type": "object", "additionalProperties": true}, {"type": "array", "items": schema{}}}},
	typ[patchValue]():             {},
	typ[cms.Digest]():             {"type": "string", "pattern": "^sha256-[0-9a-f]{64}$"},
	typ[any]():                    {"anyOf": []schema{{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "null"}}},
	typ[cms.Scope]():              enumSchema(cms.Scopes),
	typ[cms.EventType]():          enumSchema(cms.EventTypes),
	typ[cms.ChangeKind]():         enumSchema(cms.ChangeKinds),
	typ[service.ResolutionKind](): enumSchema(service.ResolutionKinds),
	typ[cms.PageStatus]():         enumSchema(cms.PageStatuses),
	typ[cms.PublishStatus]():      enumSchema(cms.PublishStatuses),
	typ[cms.URLChange]():          enumSchema(cms.URLChanges),
	typ[cms.DeliveryStatus]():     enumSchema(cms.DeliveryStatuses),
	typ[cms.BatchOp]():            enumSchema(cms.BatchOps),
	typ[cms.Code]():               enumSchema(slices.Sorted(maps.Keys(statuses))),
	typ[cms.SiteKeyAccess]():      enumSchema(cms.SiteKeyAccesses),
	typ[cms.LocaleMode]():         enumSchema(cms.LocaleModes),
	typ[credentialKind]():         enumSchema(credentialKinds),
}

// namedScalars are the schemas of types that several objects have, each with the name
// of its type.
var namedScalars = map[reflect.Type]schema{typ[cms.Frequency](): enumSchema(cms.Frequencies)}

func enumSchema[T ~string](values []T) schema {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return schema{"type": "string", "enum": list}
}
