package client

import (
	"encoding/json"
	"time"

	"github.com/schollz/progressbar/v3"

	galley "galley/sdk/go"
)

// listFlags select a part of a list.
type listFlags struct {
	Flags

	Limit int    `help:"Length of the list, up to 100 (default 20)." placeholder:"NUMBER"`
	After string `help:"Begin after the item with this id." placeholder:"ID"`
	All   bool   `help:"List everything." xor:"all"`
}

// list reads a list, or all pages of it, and prints it.
func list[T any](s *Session, f listFlags, columns []string, read func(galley.ListOptions, ...galley.RequestOption) (galley.List[T], error)) error {
	page := galley.ListOptions{Limit: f.Limit, StartingAfter: f.After}
	if f.All {
		text, err := readAll(s, page, read)
		if err != nil {
			return err
		}
		return s.ShowList(text, columns...)
	}
	some, err := read(page, s.raw())
	if err != nil {
		return err
	}
	if err := s.ShowList(s.body, columns...); err != nil {
		return err
	}
	if some.HasMore {
		s.note("There are more: list all with --all.")
	}
	return nil
}

// envelope is a list as the server sends it.
type envelope struct {
	Object  string            `json:"object"`
	Data    []json.RawMessage `json:"data"`
	HasMore bool              `json:"hasMore"`
	Plan    json.RawMessage   `json:"plan,omitempty"` // of changes
	Summary json.RawMessage   `json:"summary,omitempty"`
}

// readAll reads all pages of a list and returns them as one.
func readAll[T any](s *Session, page galley.ListOptions, read func(galley.ListOptions, ...galley.RequestOption) (galley.List[T], error)) ([]byte, error) {
	all := []json.RawMessage{}
	if page.Limit == 0 {
		page.Limit = 100
	}
	bar := s.bar("Reading", -1)
	defer func() { _ = bar.Finish() }()
	for {
		if _, err := read(page, s.raw()); err != nil {
			return nil, err
		}
		var part envelope
		if err := json.Unmarshal(s.body, &part); err != nil {
			return nil, err
		}
		all = append(all, part.Data...)
		_ = bar.Add(len(part.Data))
		if !part.HasMore || len(part.Data) == 0 {
			part.Data, part.HasMore = all, false
			return encodeJSON(part)
		}
		last, err := ordered(part.Data[len(part.Data)-1])
		if err != nil {
			return nil, err
		}
		page.StartingAfter, _ = identity(last).(string)
	}
}

// bar shows progress on a terminal; the total is -1 if it is not known.
func (t *Terminal) bar(what string, total int) *progressbar.ProgressBar {
	if !isTerminal(t.Err) {
		return progressbar.DefaultSilent(int64(total))
	}
	return progressbar.NewOptions(total, progressbar.OptionSetWriter(t.Err), progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish())
}
