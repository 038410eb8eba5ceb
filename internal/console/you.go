package console

import (
	"net/http"
	"strings"
)

const youPath = "/console/session"

// you is what the screen You shows.
type you struct {
	workspace string
	sessions  []Session
}

func showYou(v *visit) error {
	if v.Method == http.MethodPost {
		return endSessions(v)
	}
	sessions, answer := v.c.api.Sessions(v.Request, v.token)
	if p := answer.problem(); p != nil {
		return p
	}
	shown := you{sessions: sessions, workspace: v.me.WorkspaceID}
	if v.me.can("admin") {
		if w, err := read[struct{ Name string }](v.get("/v2/workspace")); err == nil {
			shown.workspace = w.Name
		}
	}
	return v.show(http.StatusOK, youTitle, youScreen(v, shown))
}

// endSessions ends this session, another one, or all.
func endSessions(v *visit) error {
	id := v.PostFormValue("session")
	switch v.PostFormValue("do") {
	case "signOutEverywhere":
		id = ""
	case "signOut":
		sessions, answer := v.c.api.Sessions(v.Request, v.token)
		if p := answer.problem(); p != nil {
			return p
		}
		for _, s := range sessions {
			if s.IsCurrent {
				id = s.ID
			}
		}
	case "end":
		if p := v.c.api.EndSession(v.Request, v.token, orElse(id, "-")).problem(); p != nil {
			return p
		}
		return v.done(youPath, youSessionEnded)
	default:
		return &problem{Status: http.StatusBadRequest, Message: badForm}
	}
	if p := v.c.api.EndSession(v.Request, v.token, id).problem(); p != nil {
		return p
	}
	v.c.clearCookie(v.w, v.Request, sessionCookie)
	redirect(v.w, v.Request, signInPath)
	return nil
}

// browserName is the name of a browser and its system, as far as they are known.
func browserName(userAgent string) string {
	find := func(names ...string) string {
		for _, name := range names {
			token, shown, _ := strings.Cut(name, "=")
			if strings.Contains(userAgent, token) {
				return orElse(shown, token)
			}
		}
		return ""
	}
	browser := find("Edg/=Edge", "OPR/=Opera", "Firefox", "Chrome", "Safari", "curl")
	system := find("Android", "iPhone=iOS", "iPad=iPadOS", "Windows", "Mac OS X=macOS", "Linux")
	switch {
	case browser == "" && userAgent == "":
		return unknownBrowser
	case browser == "":
		return userAgent
	case system == "":
		return browser
	}
	return browser + ", " + system
}
