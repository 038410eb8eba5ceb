package cms

import "github.com/google/uuid"

// ID identifies a resource. New resources get a UUIDv7, so the order of ids is the
// order of creation; site keys are random UUIDv4.
type ID = uuid.UUID

// NoID is the id that no resource has.
var NoID = uuid.Nil

// LastID is above the id of every resource.
var LastID = uuid.Max

// The random pool saves system calls. Ids are no secrets.
func init() { uuid.EnableRandPool() }

// NewID returns an id for a new resource.
func NewID() ID { return uuid.Must(uuid.NewV7()) }

// ParseID reads an id of 36 characters, in either letter case, and no other form
// that the UUID library takes. It reads the nil UUID as the last one, since NoID
// means that there is no id: no resource has either.
func ParseID(s string) (ID, bool) {
	if len(s) != 36 {
		return NoID, false
	}
	id, err := uuid.Parse(s)
	if id == NoID && err == nil {
		id = LastID
	}
	return id, err == nil
}

// IDBefore is the id right before another in the order of ids.
func IDBefore(id ID) ID {
	for i := len(id) - 1; i >= 0; i-- {
		id[i]--
		if id[i] != 0xff {
			break
		}
	}
	return id
}
