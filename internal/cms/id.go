package cms

import "github.com/google/uuid"

// ID names a resource. New resources get a UUIDv7, so the order of ids is the
// order of creation; site keys are random UUIDv4.
type ID = uuid.UUID

// NoID is the id that no resource has.
var NoID = uuid.Nil

// lastID is above the id of every resource.
var lastID = uuid.Max

// Random bytes come sixteen ids at a time, which saves system calls: ids are no
// secrets.
func init() { uuid.EnableRandPool() }

// NewID returns an id for a new resource.
func NewID() ID { return uuid.Must(uuid.NewV7()) }

// ParseID reads the canonical form of an id: 36 characters, either letter
// case. The other forms that the UUID library takes (braces, urn:, no dashes)
// are not ids here. The nil UUID, which to us means that there is no id, is
// read as the last one there is: no resource has either.
func ParseID(s string) (ID, bool) {
	if len(s) != 36 {
		return NoID, false
	}
	id, err := uuid.Parse(s)
	if id == NoID && err == nil {
		id = lastID
	}
	return id, err == nil
}
