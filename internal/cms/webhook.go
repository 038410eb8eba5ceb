package cms

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxWebhooks is the largest number of webhooks of a workspace.
const MaxWebhooks = 100

// DefaultSecretGrace is how long an old secret of a webhook goes on signing unless
// another time is given.
const DefaultSecretGrace = 24 * time.Hour

// Webhook sends the events of a workspace to a URL.
type Webhook struct {
	ID             ID
	WorkspaceID    ID
	URL            string
	Types          []EventType // nil: all
	SiteIDs        []ID        // nil: all, and events of no site
	Description    *string
	IsEnabled      bool
	DisabledReason *string // why the service disabled it; nil: it did not
	CreatedAt      time.Time
	UpdatedAt      time.Time
	DeletedAt      *time.Time

	Secret        []byte // encrypted
	OldSecret     []byte // encrypted; nil: none
	OldSecretEnds *time.Time

	// StartsAfter is the event of the write that began what is sent now: its creation,
	// or when it was enabled or its URL changed. Position holds instead if it is NoID.
	StartsAfter ID
	// Position is that of the last event up to which every delivery is stored.
	Position     int64
	FailingSince *time.Time // of the first failure after the last success
	Revision     int64      // changes with all that a node that serves the webhook must know of
}

// Within reports whether an app reaches all sites of the webhook.
func (w Webhook) Within(a App) bool {
	return a.SiteIDs == nil || w.SiteIDs != nil && !slices.ContainsFunc(w.SiteIDs, func(id ID) bool { return !a.Reaches(id) })
}

// NewWebhookSecret returns a new secret in the form of the Standard Webhooks
// specification.
func NewWebhookSecret() string {
	var secret [24]byte
	_, _ = rand.Read(secret[:]) // it never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(secret[:])
}

// WebhookPatch changes a webhook, and is what one is created from.
type WebhookPatch struct {
	URL         Opt[string]
	Types       Opt[[]EventType]
	SiteIDs     Opt[[]ID]
	Description Opt[*string]
	IsEnabled   Opt[bool]
}

// Clean normalizes the values and notes what is wrong with them.
func (c *WebhookPatch) Clean(p *Problems) {
	clean(p, "url", &c.URL, parseWebhookURL)
	check(p, "types", c.Types, checkEventTypes)
	check(p, "siteIds", c.SiteIDs, checkSiteIDs)
	cleanPtr(p, "description", &c.Description, textRule)
	if c.Types.Set && c.Types.Value != nil {
		c.Types.Value = slices.DeleteFunc(slices.Clone(EventTypes), func(t EventType) bool { return !slices.Contains(c.Types.Value, t) })
	}
	if c.SiteIDs.Set && c.SiteIDs.Value != nil {
		c.SiteIDs.Value = SortIDs(c.SiteIDs.Value)
	}
}

// CleanNew is Clean for a new webhook.
func (c *WebhookPatch) CleanNew(p *Problems) {
	required(p, "url", c.URL)
	c.Clean(p)
}

// Apply returns the webhook as the patch leaves it.
func (c WebhookPatch) Apply(w Webhook) Webhook {
	c.URL.ApplyTo(&w.URL)
	c.Types.ApplyTo(&w.Types)
	c.SiteIDs.ApplyTo(&w.SiteIDs)
	c.Description.ApplyTo(&w.Description)
	c.IsEnabled.ApplyTo(&w.IsEnabled)
	return w
}

func parseWebhookURL(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "", errors.New("must be an absolute http or https URL")
	case u.User != nil:
		return "", errors.New("must not have user info")
	case strings.Contains(s, "#"):
		return "", errors.New("must not have a fragment")
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", errors.New("must have a port from 1 to 65535, or none")
		}
	}
	return ParseURL(s)
}

func checkEventTypes(types []EventType) error {
	if types != nil && len(types) == 0 {
		return errors.New("must name at least one type, or be null for all")
	}
	for _, t := range types {
		if !slices.Contains(EventTypes, t) {
			return errors.New("must be types of events")
		}
	}
	return nil
}

// RotateSecret asks for a new secret; the old one goes on signing until the grace
// ends.
type RotateSecret RotateKey

// Clean notes what is wrong with the values.
func (r *RotateSecret) Clean(p *Problems) { (*RotateKey)(r).Clean(p) }

// Ends is when the old secret no longer signs.
func (r RotateSecret) Ends(now time.Time) time.Time {
	if !r.GraceSeconds.Set {
		return now.Add(DefaultSecretGrace)
	}
	return RotateKey(r).Ends(now)
}

// ServedWebhook is a webhook that a node serves.
type ServedWebhook struct {
	ID, WorkspaceID ID
	Revision        int64
}

// WebhookReplay is a range of events that are sent again.
type WebhookReplay struct {
	WebhookID ID
	ID        ID
	Since     time.Time
	Position  int64 // as that of a webhook
	Until     int64 // the last position
}

// Replay asks for the events since a time to be sent again.
type Replay struct{ Since Opt[time.Time] }

// Clean notes what is wrong with the values.
func (r *Replay) Clean(p *Problems) { required(p, "since", r.Since) }

// WebhookMessage is a signed request to the receiver of a webhook.
type WebhookMessage struct {
	URL     string
	ID      string // the same in every attempt
	At      time.Time
	Secrets []string // each signs the message
	Body    []byte
}

// WebhookAnswer is the response of a receiver.
type WebhookAnswer struct {
	Status     int
	Text       string // its beginning
	RetryAfter string // the header
}

// maxRetryAfter is the longest time for which a receiver can postpone an attempt.
const maxRetryAfter = 24 * time.Hour

// Postponed is for how long the receiver asks not to be sent anything.
func (a WebhookAnswer) Postponed(now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(a.RetryAfter, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(a.RetryAfter); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
