package cms

import "time"

// KeptFor is how long the answer to a keyed request is repeated.
const KeptFor = 24 * time.Hour

// MaxIdempotencyKey is the longest idempotency key, in bytes.
const MaxIdempotencyKey = 255

// Needs are what a request needs a right to, besides the scope.
type Needs struct {
	Site    *ID // NoID: every site
	App     *ID // which the caller has to cover
	Webhook *ID
}

// KeptAnswer is the stored answer to a keyed request.
type KeptAnswer struct {
	Credential ID
	Key        string
	Request    KeyHash // of the address and body
	Status     int
	Location   string
	Body       []byte
	Sealed     bool // the body has a secret and is encrypted
	Needs      Needs
	At         time.Time
}
