package httpapi

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"galley/internal/cms"
	"galley/internal/service"
)

// query has the parsed values of all parameters. An endpoint sets those that it
// declares.
type query struct {
	siteID         cms.ID
	workspaceID    cms.ID
	resourceID     cms.ID
	appID          cms.ID
	operation      string
	since, until   *time.Time
	list           cms.ListQuery
	locale         string
	version        service.VersionRef
	versionGiven   bool
	pathPrefix     string
	sourcePrefix   string
	sort           cms.PageSort
	descending     bool
	includeOffline bool
	skipValidation bool
	selection      cms.SelectionRequest
	url            string
	origin         string
	part           int // 0: not given
	content        bool
	from, to       service.VersionRef
	search         string // folded
	label          string
	deleted        bool
	under          string
	segment        string // the cursor of a tree
	status         cms.StatusSet
	delivery       cms.DeliveryStatus
	types          []cms.EventType
}

// param is a query parameter, with its documentation. parse returns what is wrong
// with a value, or "".
type param struct {
	name     string
	doc      string
	schema   schema
	required bool
	unlessID bool // required if the path has a name instead of an id
	parse    func(q *query, value string) string
}

const mustBeID = "must be a UUID"

var (
	paramSiteID      = inSite(idParam("siteId", "The site. Required when a pathname or locale code is used instead of an id.", func(q *query) *cms.ID { return &q.siteID }))
	paramListSiteID  = required(idParam("siteId", "The site whose items are listed.", func(q *query) *cms.ID { return &q.siteID }))
	paramWorkspaceID = idParam("workspaceId", "The workspace. The key's own is the only one it reaches.", func(q *query) *cms.ID { return &q.workspaceID })
	paramAuditSiteID = idParam("siteId", "Only what happened in this site.", func(q *query) *cms.ID { return &q.siteID })
	paramResourceID  = idParam("resourceId", "Only what happened to this resource.", func(q *query) *cms.ID { return &q.resourceID })
	paramAppID       = idParam("appId", "Only what this app did.", func(q *query) *cms.ID { return &q.appID })
	paramOperation   = param{
		name: "operation", doc: "Only what this operation did, by its id in this document.", schema: schema{"type": "string", "example": "updatePage"},
		parse: func(q *query, v string) string {
			if len(v) > 64 || strings.ContainsFunc(v, func(c rune) bool { return c < 'A' || c > 'z' }) {
				return "must be the name of an operation"
			}
			q.operation = v
			return ""
		},
	}
	paramSince       = timeParam("since", "Only what happened at this time or later.", func(q *query) **time.Time { return &q.since })
	paramEventSince  = timeParam("since", "Only events of this time or later. One before the oldest event that is kept begins with that.", func(q *query) **time.Time { return &q.since })
	paramEventSiteID = idParam("siteId", "Only events of this site, deleted or not.", func(q *query) *cms.ID { return &q.siteID })
	paramTypes       = param{
		name: "types", doc: "Only events of these types, separated by commas.", schema: schema{"type": "string", "example": "page.created,page.updated"},
		parse: func(q *query, v string) string {
			var types cms.Opt[[]cms.EventType]
			problem := parseList(&types, v, len(cms.EventTypes), "must be a type of events", func(s string) (cms.EventType, bool) {
				return cms.EventType(s), slices.Contains(cms.EventTypes, cms.EventType(s))
			})
			q.types = types.Value
			return problem
		},
	}
	paramUntil = timeParam("until", "Only what happened before this time.", func(q *query) **time.Time { return &q.until })
	paramLimit = param{
		name: "limit", doc: "How many items to return at most.",
		schema: schema{"type": "integer", "minimum": 1, "maximum": cms.MaxLimit, "default": cms.DefaultLimit},
		parse:  parseLimit,
	}
	paramAfter        = cursorParam("startingAfter")
	paramRuntimeAfter = cursorParam("after")
	paramVersion      = param{
		name: "versionRef", doc: "The draft (working) version, the live (published) one, or what was live after a publish (publish:ID). The default is ref:draft, or ref:live for a Site API key of a site whose siteKeyAccess is live. A preview reads its own version alone.",
		schema: versionSchema,
		parse: func(q *query, v string) string {
			q.versionGiven = true
			return parseVersion(&q.version, v)
		},
	}
	paramFrom = versionParam("from", "The version to compare; ref:live unless given.", func(q *query) *service.VersionRef { return &q.from })
	paramTo   = versionParam("to", "The version to compare it with; ref:draft unless given.", func(q *query) *service.VersionRef { return &q.to })
	// paramInclude has no other value yet.
	paramInclude = param{
		name: "include", doc: "What else to answer: `content` is the content in that version and locale, or null.",
		schema: schema{"type": "string", "enum": []string{"content"}},
		parse: func(q *query, v string) string {
			if v != "content" {
				return "must be content"
			}
			q.content = true
			return ""
		},
	}
	paramLocale = param{
		name: "locale", doc: "A locale of the site, by code or id: every field is answered as it stands there.",
		schema: schema{"type": "string", "example": "fr"},
		parse: func(q *query, v string) string {
			if !cms.LocaleRefForm(v) {
				return "must be a locale code or id"
			}
			q.locale = strings.Clone(v) // it may outlive the request
			return ""
		},
	}
	paramPathPrefix = param{
		name: "pathPrefix", doc: "Only pages whose pathname begins with this, letter for letter.",
		schema: schema{"type": "string", "default": "/", "example": "/blog"},
		parse: func(q *query, v string) string {
			if strings.ContainsRune(v, 0) {
				return "must not have a NUL character"
			}
			q.pathPrefix = strings.Clone(v) // it may outlive the request
			return ""
		},
	}
	paramSourcePrefix = param{
		name: "sourcePrefix", doc: "Only redirects whose source begins with this, letter for letter.",
		schema: schema{"type": "string", "example": "/blog"},
		parse: func(q *query, v string) string {
			if strings.ContainsRune(v, 0) {
				return "must not have a NUL character"
			}
			q.sourcePrefix = strings.Clone(v) // it may outlive the request
			return ""
		},
	}
	paramRedirectLocale = param{
		name: "locale", doc: "A locale of the site, by code or id: its redirects, and those of every locale.",
		schema: paramLocale.schema, parse: paramLocale.parse,
	}
	paramSortBy = param{
		name: "sortBy", doc: "The order of the list.",
		schema: schema{"type": "string", "enum": cms.PageSorts, "default": cms.SortPath},
		parse: func(q *query, v string) string {
			i := slices.Index(cms.PageSorts, cms.PageSort(v))
			if i < 0 {
				return "must be one of path, title, description, createdAt, updatedAt"
			}
			q.sort = cms.PageSorts[i] // it may outlive the request
			return ""
		},
	}
	paramSortDirection = param{
		name: "sortDirection", doc: "Ascending or descending; nulls are last in ascending order.",
		schema: schema{"type": "string", "enum": []string{"asc", "desc"}, "default": "asc"},
		parse:  func(q *query, v string) string { return parseEither(&q.descending, v, "asc", "desc") },
	}
	paramIncludeOffline = boolParam("includeOffline", "Whether pages that are offline are listed too.", func(q *query) *bool { return &q.includeOffline })
	paramPageIDs        = param{
		name: "pageIds", doc: "Only these pages, separated by commas; at most 1,000.", schema: schema{"type": "string", "example": "01980a5c-7d3e-7f00-8a3b-000000000001"},
		parse: func(q *query, v string) string {
			return parseList(&q.selection.PageIDs, v, cms.MaxPublishPages, mustBeID, cms.ParseID)
		},
	}
	paramRedirectIDs = param{
		name: "redirectIds", doc: "Only these redirects, separated by commas; at most 1,000.", schema: paramPageIDs.schema,
		parse: func(q *query, v string) string {
			return parseList(&q.selection.RedirectIDs, v, cms.MaxPublishPages, mustBeID, cms.ParseID)
		},
	}
	paramLocales = param{
		name: "locales", doc: "Only the values of these locales, by code or id, separated by commas; at most 1,000.", schema: schema{"type": "string", "example": "fr,de"},
		parse: func(q *query, v string) string {
			return parseList(&q.selection.Locales, v, cms.MaxPublishLocales, "must be a locale code or id", func(s string) (string, bool) {
				return strings.ToLower(s), cms.LocaleRefForm(s)
			})
		},
	}
	paramURL = required(param{
		name: "url", doc: "An absolute http or https URL, or with siteId a path with its query.", schema: schema{"type": "string", "example": "https://www.example.com/about"},
		parse: func(q *query, v string) string {
			q.url = v
			return ""
		},
	})
	paramResolveSiteID = idParam("siteId", "The site. Without it, the one with the origin of the URL.", func(q *query) *cms.ID { return &q.siteID })
	paramOrigin        = param{
		name: "origin", doc: "An origin of the site: its own, which is the default, or the domain of a locale.", schema: schema{"type": "string", "example": "https://www.example.com"},
		parse: func(q *query, v string) (problem string) {
			var err error
			if q.origin, err = cms.ParseOrigin(v); err != nil {
				problem = err.Error()
			}
			return problem
		},
	}
	paramPart = param{
		name: "part", doc: "A part of a sitemap that is an index.", schema: schema{"type": "integer", "minimum": 1},
		parse: func(q *query, v string) string {
			n, err := strconv.Atoi(v)
			if err != nil || !partForm.MatchString(v) {
				return "must be an integer from 1 on"
			}
			q.part = n
			return ""
		},
	}
	paramSearch      = searchParam("Only sites whose name contains this, without regard to case; 1 to 200 characters.")
	paramSearchPages = searchParam("Only pages whose pathname, name or title contains this in the locale shown, without regard to case; 1 to 200 characters.")
	paramLabel       = param{
		name: "label", doc: "Only sites with this label.", schema: schema{"type": "string", "pattern": "^[a-z0-9-]{1,40}$", "example": "shop"},
		parse: func(q *query, v string) string {
			if !cms.IsLabel(v) {
				return "must be 1 to 40 of a-z, 0-9 and -"
			}
			q.label = v
			return ""
		},
	}
	paramDeleted      = boolParam("deleted", "Lists what is deleted and can be restored, alone. For App keys.", func(q *query) *bool { return &q.deleted })
	paramDeletedPages = boolParam("deleted", "Lists the deleted pages of the draft alone. For App keys.", func(q *query) *bool { return &q.deleted })
	paramStatus       = param{
		name: "status", doc: "Only pages of the draft with one of these states, separated by commas. offline and deleted bring pages that are not listed otherwise; deleted is for App keys.",
		schema: schema{"type": "string", "pattern": "^(new|changed|live|deleted|offline)(,(new|changed|live|deleted|offline))*$", "example": "new,changed"},
		parse: func(q *query, v string) string {
			for name := range strings.SplitSeq(v, ",") {
				status, ok := cms.StatusFilters[name]
				if !ok || q.status&status != 0 {
					return "must be some of new, changed, live, deleted, offline, each once"
				}
				q.status |= status
			}
			return ""
		},
	}
	paramUnder = param{
		name: "under", doc: "The pathname below which the next segments are listed.", schema: schema{"type": "string", "default": "/", "example": "/blog"}, parse: parseUnder,
	}
	paramSegment = param{
		name: "startingAfter", doc: "The cursor: the pathname of the last item of the page before.", schema: schema{"type": "string", "example": "/blog"}, parse: parseSegment,
	}
	paramScheduled = required(param{
		name: "status", doc: "Which publishes to list.", schema: schema{"type": "string", "enum": []cms.PublishStatus{cms.StatusScheduled}},
		parse: func(_ *query, v string) string {
			if v != string(cms.StatusScheduled) {
				return "must be scheduled"
			}
			return ""
		},
	})
	paramDeliveryStatus = param{
		name: "status", doc: "Only deliveries with this status.", schema: schema{"type": "string", "enum": cms.DeliveryStatuses},
		parse: func(q *query, v string) string {
			q.delivery = cms.DeliveryStatus(v)
			if !slices.Contains(cms.DeliveryStatuses, q.delivery) {
				return "must be one of pending, delivered, failed"
			}
			return ""
		},
	}
	paramSkipValidation = boolParam("skipValidation", "Admits a pathname of another system's form, such as /products/[slug].", func(q *query) *bool { return &q.skipValidation })
)

// inSite is a parameter that is required if the path has a name instead of an id.
func inSite(p param) param {
	p.unlessID = true
	return p
}

// required is a parameter that is always required.
func required(p param) param {
	p.required = true
	return p
}

func idParam(name, doc string, field func(*query) *cms.ID) param {
	return param{name: name, doc: doc, schema: idSchema, parse: func(q *query, v string) string { return parseIDParam(field(q), v, mustBeID) }}
}

func cursorParam(name string) param {
	return param{
		name: name, doc: "The cursor: the id of the last item of the page before.", schema: idSchema,
		parse: func(q *query, v string) string {
			return parseIDParam(&q.list.After, v, cms.ErrCursor.Details[0].Message)
		},
	}
}

func boolParam(name, doc string, field func(*query) *bool) param {
	return param{name: name, doc: doc, schema: schema{"type": "boolean", "default": false}, parse: func(q *query, v string) string { return parseEither(field(q), v, "false", "true") }}
}

// maxSearch is the longest text that is searched for, in characters.
const maxSearch = 200

func searchParam(doc string) param {
	return param{name: "search", doc: doc, schema: schema{"type": "string", "minLength": 1, "maxLength": maxSearch}, parse: func(q *query, v string) string {
		if utf8.RuneCountInString(v) > maxSearch {
			return "must be at most 200 characters"
		}
		if strings.ContainsRune(v, 0) {
			return "must not have a NUL character"
		}
		q.search = strings.Clone(cms.Fold(v)) // it may outlive the request
		return ""
	}}
}

func timeParam(name, doc string, field func(*query) **time.Time) param {
	return param{name: name, doc: doc, schema: timeSchema, parse: func(q *query, v string) string {
		t, ok := parseTime(v)
		if !ok {
			return "must be an RFC 3339 time"
		}
		*field(q) = &t
		return ""
	}}
}

func parseIDParam(dst *cms.ID, v, message string) string {
	id, ok := cms.ParseID(v)
	if !ok {
		return message
	}
	*dst = id
	return ""
}

// parseList reads items separated by commas, each given once.
func parseList[T comparable](dst *cms.Opt[[]T], v string, most int, message string, parse func(string) (T, bool)) string {
	var items []T
	for text := range strings.SplitSeq(v, ",") {
		item, ok := parse(text)
		switch {
		case text == "":
			return "must not have empty items"
		case !ok:
			return fmt.Sprintf("item %d %s", len(items), message)
		case slices.Contains(items, item):
			return fmt.Sprintf("item %d must be given once", len(items))
		case len(items) == most:
			return fmt.Sprintf("must have at most %d items", most)
		}
		items = append(items, item)
	}
	*dst = cms.Some(items)
	return ""
}

var versionSchema = schema{"type": "string", "pattern": `^(ref:draft|ref:live|publish:[0-9a-fA-F-]{36})$`, "example": "ref:live"}

func versionParam(name, doc string, field func(*query) *service.VersionRef) param {
	return param{name: name, doc: doc, schema: versionSchema, parse: func(q *query, v string) string { return parseVersion(field(q), v) }}
}

func parseVersion(dst *service.VersionRef, v string) string {
	switch v {
	case "ref:draft":
		*dst = service.VersionRef{Version: cms.Draft}
		return ""
	case "ref:live":
		*dst = service.VersionRef{Version: cms.Live}
		return ""
	}
	if text, ok := strings.CutPrefix(v, "publish:"); ok {
		if id, ok := cms.ParseID(text); ok {
			*dst = service.VersionRef{Version: cms.Live, Publish: id}
			return ""
		}
	}
	return "must be ref:draft, ref:live, or publish: and the id of a publish"
}

var partForm = regexp.MustCompile(`^[1-9][0-9]{0,5}$`)

var limitForm = regexp.MustCompile(`^[1-9][0-9]{0,2}$`)

func parseLimit(q *query, v string) string {
	n, err := strconv.Atoi(v)
	if err != nil || !limitForm.MatchString(v) || n > cms.MaxLimit {
		return "must be an integer from 1 to 100"
	}
	q.list.Limit = n
	return ""
}

// parseEither sets dst to whether the value is the second of two words.
func parseEither(dst *bool, v, first, second string) string {
	if v != first && v != second {
		return "must be one of " + first + ", " + second
	}
	*dst = v == second
	return ""
}

// parseQuery reads a raw query string and refuses what it does not know: a
// misspelled parameter must not change what a request does, and the standard
// library drops malformed ones. named reports whether the path has a name in it.
func parseQuery(raw string, params []param, named bool) (*query, error) {
	q := &query{
		list: cms.ListQuery{Limit: cms.DefaultLimit}, sort: cms.SortPath, pathPrefix: "/", under: "/",
		from: service.VersionRef{Version: cms.Live}, to: service.VersionRef{Version: cms.Draft},
	}
	var problems cms.Problems
	seen := map[string]bool{}
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil || strings.Contains(rawName, ";") {
			problems.Add("query", "is malformed")
			continue
		}
		i := slices.IndexFunc(params, func(p param) bool { return p.name == name })
		value, err := url.QueryUnescape(rawValue)
		malformed := err != nil || strings.Contains(rawValue, ";") || !utf8.ValidString(value)
		switch {
		case i < 0 && malformed:
			problems.Add("query", "is malformed")
		case i < 0 && seen[name]:
		case i < 0:
			problems.Add(name, "is not a known parameter")
		case malformed:
			problems.Add(name, "is malformed")
		case seen[name]:
			problems.Add(name, "must be given once")
		case value == "":
			problems.Add(name, "must not be empty")
		default:
			if message := params[i].parse(q, value); message != "" {
				problems.Add(name, message)
			}
		}
		seen[name] = true
	}
	if q.segment != "" && !segmentBelow(q.segment, q.under) {
		problems.Add("startingAfter", cms.ErrCursor.Details[0].Message)
	}
	notDraft := q.versionGiven && q.version != (service.VersionRef{Version: cms.Draft})
	if q.deleted && notDraft {
		problems.Add("deleted", "is about the draft")
	}
	if q.status != 0 && (notDraft || q.deleted) {
		problems.Add("status", "is about the draft, without deleted")
	}
	for _, p := range params {
		switch {
		case seen[p.name]:
		case p.required:
			problems.Add(p.name, "is required")
		case p.unlessID && named:
			problems.Add(p.name, "is required unless the address has an id")
		}
	}
	return q, problems.Err()
}

// ref returns the resource that a value of the path refers to by id, or by name
// in the site of the query.
func (r *request) ref(name string) service.Ref {
	value := r.values[name]
	if id, ok := cms.ParseID(value); ok {
		return service.Ref{ID: id, SiteID: r.query.siteID}
	}
	return service.Ref{Name: value, SiteID: r.query.siteID}
}

// named reports whether the path has a value that is no id.
func (r *request) named() bool {
	for _, value := range r.values {
		if _, ok := cms.ParseID(value); !ok {
			return true
		}
	}
	return false
}
