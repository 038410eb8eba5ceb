package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	galley "galley/sdk/go"
)

// firstPause is the pause before a request is sent again.
const firstPause = 200 * time.Millisecond

// Explain returns the message of an error of a client for a person, and the exit code. ok is
// false for other errors.
func Explain(err error) (message string, code int, ok bool) {
	if exit, ok := errors.AsType[*ExitError](err); ok {
		return exit.Message, exit.Code, true
	}
	if failed, ok := errors.AsType[*galley.Error](err); ok {
		return explainAnswer(failed), ExitRefused, true
	}
	if errors.Is(err, context.Canceled) {
		return "interrupted", ExitRefused, true
	}
	if lost, ok := errors.AsType[*url.Error](err); ok {
		server := lost.URL
		if u, err := url.Parse(lost.URL); err == nil {
			server = u.Scheme + "://" + u.Host
		}
		return fmt.Sprintf("can't reach %s: %v. Check that the server runs and that the URL is right; 'galley profiles' shows it", server, lost.Err), ExitRefused, true
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return "this is no Galley server: its answer is not understood; 'galley profiles' shows the URL", ExitRefused, true
	}
	return "", 0, false
}

// explainAnswer says what the server refused, and what to do about it.
func explainAnswer(e *galley.Error) string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(e.Message, "."))
	for _, d := range e.Details {
		fmt.Fprintf(&b, "\n  %s %s", d.Field, d.Message)
	}
	if advice := advise(e); advice != "" {
		b.WriteString(". " + advice)
	}
	if e.Status >= http.StatusInternalServerError {
		fmt.Fprintf(&b, " (request %s)", cmp.Or(e.RequestID, "unknown"))
	}
	return b.String()
}

func advise(e *galley.Error) string {
	switch {
	case e.Code == galley.CodeUnauthorized:
		return "Sign in with another key: 'galley login URL'"
	case e.Code == galley.CodeForbidden && strings.Contains(e.Message, "lacks the scope"):
		return "Use a key that has it, or add it: 'galley keys update APP --scopes SCOPES'"
	case e.Code == galley.CodeTooManyRequests:
		return fmt.Sprintf("Try again in %v", max(e.RetryAfter, time.Second))
	case e.Code == galley.CodeNotFound && e.Message == fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)):
		return "There is no Galley server at this URL; 'galley profiles' shows it"
	}
	return ""
}
