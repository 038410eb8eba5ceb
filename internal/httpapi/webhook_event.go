package httpapi

import (
	"bytes"

	"galley/internal/cms"
)

// EncodeEvent encodes an event as webhooks send it.
func EncodeEvent(e cms.Event) []byte { return bytes.TrimSpace(encode(newEvent(e))) }
