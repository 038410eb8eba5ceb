package console

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const webhooksPath = "/console/webhooks"

// webhook is an address that events are sent to.
type webhook struct {
	ID, URL                     string
	Types, SiteIDs              []string
	Description, DisabledReason *string
	IsEnabled                   bool
	CreatedAt, UpdatedAt        string
	Secret                      string // only when it is made
}

// delivery is an event on its way to a webhook.
type delivery struct {
	ID, EventID, EventType, Status string
	Attempts                       []attempt
	NextAttemptAt                  *string
}

type attempt struct {
	At         string
	Status     *int
	DurationMs int
	Error      *string
	Response   *string
}

// showWebhooks is the handler of the list of webhooks, of which there are at most 100.
func showWebhooks(v *visit) error {
	found, err := read[list[webhook]](v.get("/v2/webhooks", "limit", "100"))
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, navWebhooks, webhooksScreen(v, found.Data))
}

// webhookForm is what the form of a webhook has.
type webhookForm struct {
	url, description, types string
	siteIDs                 []string
	enabled                 bool
	sites                   []site
	problem                 *problem
}

func readWebhookForm(v *visit) webhookForm {
	return webhookForm{
		url: v.PostFormValue("url"), description: v.PostFormValue("description"), types: v.PostFormValue("types"), siteIDs: v.PostForm["site"],
		enabled: v.PostFormValue("enabled") != "",
	}
}

// body is the form as REST takes it.
func (f webhookForm) body() map[string]any {
	body := map[string]any{"url": f.url, "types": nil, "siteIds": nil, "description": nil, "isEnabled": f.enabled}
	if types := strings.FieldsFunc(f.types, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' }); len(types) > 0 {
		body["types"] = types
	}
	if len(f.siteIDs) > 0 {
		body["siteIds"] = f.siteIDs
	}
	if f.description != "" {
		body["description"] = f.description
	}
	return body
}

// wrongTypes is what is wrong with the types, whichever of them it is.
func (f webhookForm) wrongTypes() string {
	if f.problem != nil {
		for _, d := range f.problem.Details {
			if strings.HasPrefix(d.Field, "types") {
				return d.Message
			}
		}
	}
	return ""
}

// newWebhook is the handler of the form that makes a webhook, whose secret is then shown
// once.
func newWebhook(v *visit) error {
	form, status := webhookForm{enabled: true, siteIDs: v.me.SiteIDs}, http.StatusOK
	if v.Method == http.MethodPost {
		form = readWebhookForm(v)
		made, err := read[webhook](v.send(http.MethodPost, "/v2/webhooks", form.body()))
		if err == nil {
			return v.show(http.StatusCreated, webhookMade, secretScreen(secret{webhookMade, secretLabel, made.Secret, secretOnce, webhooksPath + "/" + made.ID}))
		}
		if form.problem = problemOf(err); form.problem == nil || form.problem.Status >= http.StatusInternalServerError {
			return err
		}
		status = form.problem.Status
	}
	form.sites = someSites(v)
	return v.show(status, newWebhookTitle, newWebhookScreen(v, form))
}

// webhookView is a webhook with its deliveries.
type webhookView struct {
	webhook
	form       webhookForm
	status     string
	deliveries []delivery
	next       string
}

// showWebhook is the handler of a webhook and its log.
func showWebhook(v *visit) error {
	path := "/v2/webhooks/" + pathValue(v.PathValue("webhook"))
	w := webhookView{status: v.URL.Query().Get("status")}
	var err error
	if w.webhook, err = read[webhook](v.get(path)); err != nil {
		return err
	}
	if v.Method == http.MethodPost {
		return writeWebhook(v, w, path)
	}
	w.form = webhookForm{url: w.URL, description: deref(w.Description), types: strings.Join(w.Types, ", "), siteIDs: w.SiteIDs, enabled: w.IsEnabled}
	return w.show(v, path, http.StatusOK)
}

func (w webhookView) show(v *visit, path string, status int) error {
	w.form.sites = someSites(v)
	found, err := read[list[delivery]](v.get(path+"/deliveries", "status", w.status, "limit", "50", "startingAfter", v.URL.Query().Get("after")))
	if err != nil {
		return err
	}
	if w.deliveries = found.Data; found.HasMore {
		w.next = at(webhooksPath+"/"+w.ID, "status", w.status, "after", w.deliveries[len(w.deliveries)-1].ID)
	}
	return v.show(status, webhookTitle, webhookScreen(v, w))
}

// writeWebhook does what a form of a webhook says.
func writeWebhook(v *visit, w webhookView, path string) error {
	self := webhooksPath + "/" + w.ID
	var answer Answer
	var message string
	switch v.PostFormValue("do") {
	case "save":
		w.form = readWebhookForm(v)
		if answer, message = v.send(http.MethodPatch, path, w.form.body()), webhookSaved; answer.Status == http.StatusBadRequest {
			w.form.problem = answer.problem()
			return w.show(v, path, http.StatusBadRequest)
		}
	case "test":
		answer, message = v.send(http.MethodPost, path+"/test", nil), webhookTested
		if sent, err := read[delivery](answer); err == nil && len(sent.Attempts) > 0 {
			message = testResult(sent.Attempts[0])
		}
	case "redeliver":
		answer, message = v.send(http.MethodPost, "/v2/deliveries/"+pathValue(v.PostFormValue("delivery"))+"/redeliver", nil), redelivering
	case "replay":
		answer = v.send(http.MethodPost, path+"/replay", map[string]any{"since": publishTime(orElse(v.PostFormValue("utc"), v.PostFormValue("since")))})
		counted, err := read[struct{ Count int }](answer)
		if err != nil {
			return err
		}
		message = replayed(counted.Count)
	case "rotate":
		grace, err := strconv.Atoi(v.PostFormValue("grace"))
		if err != nil {
			return &problem{Status: http.StatusBadRequest, Message: badForm}
		}
		made, err := read[webhook](v.send(http.MethodPost, path+"/rotate-secret", map[string]any{"graceSeconds": grace}))
		if err != nil {
			return err
		}
		return v.show(http.StatusOK, secretRotated, secretScreen(secret{secretRotated, secretLabel, made.Secret, secretOnce, self}))
	case "delete":
		return v.show(http.StatusOK, deleteWebhook, confirmScreen(v, confirmation{title: deleteWebhook, text: deleteWebhookText, button: deleteWebhook, action: self, do: "deleteConfirmed", back: self}))
	case "deleteConfirmed":
		answer, message, self = v.send(http.MethodDelete, path, nil), webhookDeleted, webhooksPath
	default:
		return &problem{Status: http.StatusBadRequest, Message: badForm}
	}
	if p := answer.problem(); p != nil {
		return p
	}
	return v.done(self, message)
}

const eventsPath = "/console/events"

// eventList is what the screen Events shows.
type eventList struct {
	siteID, types, since, after string
	rows                        []event
	next                        string
	problem                     *problem
}

func (l eventList) address() string {
	return at(eventsPath, "siteId", l.siteID, "types", l.types, "since", l.since, "after", l.after)
}

// showEvents is the handler of the list of events, of the last day unless told.
func showEvents(v *visit) error {
	q := v.URL.Query()
	l := eventList{siteID: q.Get("siteId"), types: strings.ReplaceAll(q.Get("types"), " ", ""), since: q.Get("since"), after: q.Get("after")}
	since := wholeDay(l.since)
	if since == "" && l.after == "" {
		since = rfc3339(time.Now().AddDate(0, 0, -1))
	}
	found, err := read[list[event]](v.get("/v2/events", "siteId", l.siteID, "types", l.types, "since", since, "limit", "100", "startingAfter", l.after))
	status := http.StatusOK
	if l.problem = problemOf(err); l.problem != nil && (l.problem.Status == http.StatusBadRequest || l.problem.Status == http.StatusGone) {
		status = l.problem.Status
	} else if err != nil {
		return err
	}
	if l.rows = found.Data; found.HasMore {
		more := l
		more.after = l.rows[len(l.rows)-1].ID
		l.next = more.address()
	}
	return v.show(status, navEvents, eventsScreen(v, l))
}

// address leads to what an event is about, or is empty.
func (e event) address() string {
	t := e.thing()
	var entry auditEntry
	entry.Resource.Object, _, _ = strings.Cut(e.Type, ".")
	entry.Resource.ID, entry.SiteID = t.ID, e.SiteID
	return entry.address()
}

// name is what an event is about.
func (e event) name() string {
	entry := auditEntry{After: e.Data}
	entry.Resource.ID = e.thing().ID
	return entry.name()
}
