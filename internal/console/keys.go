package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const keysPath = "/console/keys"

// app is a key of the workspace, without the key itself.
type app struct {
	ID, Name              string
	Description           *string
	KeyHint               string
	Scopes                []string
	SiteIDs               []string
	CreatedAt             string
	LastUsedAt, ExpiresAt *string
	Key                   string // only when it is made
}

// secret is something that is shown once.
type secret struct {
	title, label, value, help, back string
}

// allScopes are the scopes in the order of the form.
var allScopes = []string{"read", "write", "publish", "admin", "operator"}

// presets are the scopes that people in a role need.
var presets = []struct {
	id, name string
	scopes   []string
}{
	{"editor", presetEditor, []string{"read", "write"}},
	{"release", presetRelease, []string{"read", "write", "publish"}},
	{"operator", presetOperator, []string{"read", "write", "publish", "admin"}},
}

// personDays is how long the key of a person lasts, unless told.
const personDays = 90

// keyList is what the screen Keys shows.
type keyList struct {
	rows []app
	next string
}

// showKeys is the handler of the list of keys.
func showKeys(v *visit) error {
	found, err := read[list[app]](v.get("/v2/apps", "limit", "100", "startingAfter", v.URL.Query().Get("after")))
	if err != nil {
		return err
	}
	l := keyList{rows: found.Data}
	if found.HasMore {
		l.next = at(keysPath, "after", l.rows[len(l.rows)-1].ID)
	}
	return v.show(http.StatusOK, navKeys, keysScreen(v, l))
}

// keyForm is what the form of a key has.
type keyForm struct {
	name, description, expires string
	scopes, siteIDs            []string
	sites                      []site
	problem                    *problem
}

// readKeyForm reads what was typed.
func readKeyForm(v *visit) keyForm {
	return keyForm{
		name: v.PostFormValue("name"), description: v.PostFormValue("description"), expires: v.PostFormValue("expires"),
		scopes: v.PostForm["scope"], siteIDs: v.PostForm["site"],
	}
}

// body is the form as REST takes it.
func (f keyForm) body() map[string]any {
	body := map[string]any{"name": f.name, "description": nil, "expiresAt": nil, "scopes": slices.Clone(f.scopes), "siteIds": nil}
	if f.scopes == nil {
		body["scopes"] = []string{}
	}
	if f.description != "" {
		body["description"] = f.description
	}
	if f.expires != "" {
		body["expiresAt"] = publishTime(f.expires + "T00:00:00Z")
	}
	if len(f.siteIDs) > 0 {
		body["siteIds"] = f.siteIDs
	}
	return body
}

// someSites are the sites that a form offers.
func someSites(v *visit) []site {
	found, err := read[list[site]](v.get("/v2/sites", "limit", "100"))
	if err != nil {
		return nil // who can't read sites can't choose them
	}
	return found.Data
}

// newKey is the handler of the form that makes a key, which is then shown once.
func newKey(v *visit) error {
	form := keyForm{scopes: []string{"read"}, siteIDs: v.me.SiteIDs}
	for _, p := range presets {
		if p.id == v.URL.Query().Get("preset") {
			form.scopes, form.expires = p.scopes, time.Now().AddDate(0, 0, personDays).UTC().Format(time.DateOnly)
		}
	}
	if v.Method == http.MethodPost {
		form = readKeyForm(v)
		made, err := read[app](v.send(http.MethodPost, "/v2/apps", form.body()))
		if err == nil {
			return v.show(http.StatusCreated, keyMade, secretScreen(secret{keyMade, keyLabel, made.Key, keyOnce, keysPath + "/" + made.ID}))
		}
		if form.problem = problemOf(err); form.problem == nil || form.problem.Status >= http.StatusInternalServerError {
			return err
		}
	}
	form.sites = someSites(v)
	status := http.StatusOK
	if form.problem != nil {
		status = form.problem.Status
	}
	return v.show(status, newKeyTitle, newKeyScreen(v, form))
}

// showKey is the handler of a key: change, rotate, delete.
func showKey(v *visit) error {
	path := "/v2/apps/" + pathValue(v.PathValue("app"))
	shown, err := read[app](v.get(path))
	if err != nil {
		return err
	}
	self := keysPath + "/" + shown.ID
	if v.Method != http.MethodPost {
		return v.show(http.StatusOK, shown.Name, keyScreen(v, shown, formOf(v, shown)))
	}
	isMine := shown.ID == v.me.AppID
	switch v.PostFormValue("do") {
	case "save":
		form := readKeyForm(v)
		_, err := read[app](v.send(http.MethodPatch, path, form.body()))
		if p := problemOf(err); p != nil && p.Status < http.StatusInternalServerError {
			form.problem, form.sites = p, someSites(v)
			return v.show(p.Status, shown.Name, keyScreen(v, shown, form))
		} else if err != nil {
			return err
		}
		return v.done(self, keySaved)
	case "rotate":
		grace, err := strconv.Atoi(v.PostFormValue("grace"))
		if err != nil {
			return &problem{Status: http.StatusBadRequest, Message: badForm}
		}
		if isMine && grace == 0 {
			return v.show(http.StatusOK, rotateKey, confirmScreen(v, confirmation{
				title: rotateKey, text: rotateOwn, button: rotateKey, action: self, do: "rotateNow", back: self,
			}))
		}
		return rotateApp(v, path, self, grace)
	case "rotateNow":
		return rotateApp(v, path, self, 0)
	case "delete":
		text := deleteKeyText
		if isMine {
			text = deleteOwnKey
		}
		return v.show(http.StatusOK, deleteKey, confirmScreen(v, confirmation{title: deleteKey, text: text, button: deleteKey, action: self, do: "deleteConfirmed", back: self}))
	case "deleteConfirmed":
		if p := v.send(http.MethodDelete, path, nil).problem(); p != nil {
			return p
		}
		return v.done(keysPath, keyDeleted)
	}
	return &problem{Status: http.StatusBadRequest, Message: badForm}
}

func formOf(v *visit, a app) keyForm {
	f := keyForm{name: a.Name, description: deref(a.Description), scopes: a.Scopes, siteIDs: a.SiteIDs, sites: someSites(v)}
	if a.ExpiresAt != nil {
		f.expires, _, _ = strings.Cut(*a.ExpiresAt, "T")
	}
	return f
}

func rotateApp(v *visit, path, self string, grace int) error {
	made, err := read[app](v.send(http.MethodPost, path+"/rotate", map[string]any{"graceSeconds": grace}))
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, keyRotated, secretScreen(secret{keyRotated, keyLabel, made.Key, keyOnce, self}))
}
