package httpapi

import "galley/internal/cms"

// EncodeEvent encodes an event as webhooks send it.
func EncodeEvent(e cms.Event) []byte { return encode(newAuditEntry(e.AuditEntry)) }
