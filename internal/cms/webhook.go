package cms

import "time"

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
