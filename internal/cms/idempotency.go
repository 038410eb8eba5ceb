package cms

import "time"

// KeptFor is how long the answer to a request with an idempotency key is
// repeated.
const KeptFor = 24 * time.Hour

// MaxIdempotencyKey is the longest idempotency key, in bytes.
const MaxIdempotencyKey = 255

// Needs are what a caller needs a right to, beside the scope, to make a request.
type Needs struct {
	Site *ID // NoID: every site
	App  *ID // which the caller has to cover
}

// KeptAnswer is the answer to a request that is to happen once, kept to be
// repeated.
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
