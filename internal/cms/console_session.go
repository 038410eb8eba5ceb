package cms

import "time"

// Session is somebody who is signed in to the console with the key of an app, or a
// link that signs somebody in once.
type Session struct {
	ID          ID
	WorkspaceID ID
	AppID       ID
	Key         KeyHash // of the app; the session ends with it
	IsLink      bool
	UserAgent   string
	CreatedAt   time.Time
	LastSeenAt  time.Time
	EndsAt      time.Time
}

// LinkLifetime is how long a link to the console works.
const LinkLifetime = 30 * time.Minute

// maxUserAgent is how many bytes of a browser's name are kept.
const maxUserAgent = 200

// NewSession is a session that begins now, with the app and key of a link or of its own.
func NewSession(app App, key KeyHash, userAgent string, now time.Time, lifetime time.Duration) Session {
	return Session{
		ID: NewID(), WorkspaceID: app.WorkspaceID, AppID: app.ID, Key: key, UserAgent: printableStart(userAgent, maxUserAgent),
		CreatedAt: now, LastSeenAt: now, EndsAt: now.Add(lifetime),
	}
}

// printableStart is the beginning of a text of ASCII, without other characters.
func printableStart(s string, most int) string {
	kept := make([]byte, 0, min(len(s), most))
	for i := 0; i < len(s) && len(kept) < most; i++ {
		if s[i] >= ' ' && s[i] <= '~' {
			kept = append(kept, s[i])
		}
	}
	return string(kept)
}
