package sqlstore

import (
	"bytes"
	_ "embed"
	"fmt"

	"github.com/klauspost/compress/s2"

	"galley/internal/cms"
)

// An audit entry stores its resource before and after the write as one
// compressed block: the second state mostly repeats the first, and both repeat
// the dictionary. S2 takes a fifth of the time of zstd and makes blocks that
// are a sixth larger. Stored blocks need the dictionary that they were made
// with, so it never changes: a better one needs a column of its own.

//go:embed audit_states.dict
var stateDictionary []byte

var stateCoder = s2.MakeDict(stateDictionary, nil)

// knownTexts are what the states of an entry repeat of its other columns: a
// control character stands for each, which JSON never contains.
func knownTexts(e cms.AuditEntry) [][]byte {
	return [][]byte{
		[]byte(e.ResourceID.String()), []byte(e.SiteID.String()), []byte(e.AppID.String()), e.At().AppendFormat(nil, "2006-01-02T15:04:"),
	}
}

// statesOf packs the states of an entry.
func statesOf(e cms.AuditEntry) []byte {
	if e.Before == nil && e.After == nil {
		return []byte{}
	}
	text := bytes.Join([][]byte{e.Before, e.After}, []byte{0})
	for i, known := range knownTexts(e) {
		text = bytes.ReplaceAll(text, known, []byte{byte(1 + i)})
	}
	return stateCoder.Encode(nil, text)
}

// setStates unpacks what statesOf has packed.
func setStates(e *cms.AuditEntry, states []byte) error {
	if len(states) == 0 {
		return nil
	}
	text, err := stateCoder.Decode(nil, states)
	if err != nil {
		return fmt.Errorf("audit entry %s: %w", e.ID, err)
	}
	for i, known := range knownTexts(*e) {
		text = bytes.ReplaceAll(text, []byte{byte(1 + i)}, known)
	}
	before, after, _ := bytes.Cut(text, []byte{0})
	if len(before) > 0 {
		e.Before = before
	}
	if len(after) > 0 {
		e.After = after
	}
	return nil
}
