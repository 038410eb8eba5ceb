package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	galley "galley/sdk/go"
)

type contentCommand struct {
	Get    contentGetCommand    `cmd:"" help:"Print the content of a page, as JSON."`
	Set    contentSetCommand    `cmd:"" help:"Replace the content of a page by a JSON file."`
	Delete contentDeleteCommand `cmd:"" help:"Clear the content of a page or, in a locale, inherit it again."`
	Diff   contentDiffCommand   `cmd:"" help:"Compare the content of two versions of a page, as a JSON Patch."`
}

// contentArgument is the content that a command is about.
type contentArgument struct {
	pageArgument
	localeFlag
}

type contentGetCommand struct {
	contentArgument
	versionFlag
}

func (c *contentGetCommand) Run(s *Session) error {
	id, err := c.id(s)
	if err != nil {
		return err
	}
	content, err := s.Client.Content.Get(s.ctx(), id, galley.ContentQuery{Locale: c.Locale, VersionRef: c.Version}, s.raw())
	if err != nil || s.output != "table" {
		return s.show(err)
	}
	return s.printIndented(content.Value) // what 'set' takes
}

// printIndented prints JSON for people and editors.
func (s *Session) printIndented(value []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, value, "", "  "); err != nil {
		return err
	}
	return s.print(b.String() + "\n")
}

type contentSetCommand struct {
	contentArgument

	File string `arg:"" help:"JSON file, or - for the standard input."`
}

func (c *contentSetCommand) Run(s *Session) error {
	value, err := s.readFile(c.File)
	if err != nil {
		return err
	}
	var check any
	if err := json.Unmarshal(value, &check); err != nil {
		return usage("%s is not JSON: %v", c.File, err)
	}
	id, err := c.id(s)
	if err != nil {
		return err
	}
	content, err := s.Client.Content.Put(s.ctx(), id, galley.ContentQuery{Locale: c.Locale}, json.RawMessage(value), s.raw())
	if err != nil || s.output != "table" {
		return s.show(err)
	}
	return s.done(nil, "Saved the content of the page %s in the draft, %s.", c.Page, content.Digest)
}

// readFile reads a file, or the standard input.
func (t *Terminal) readFile(name string) ([]byte, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(t.In)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, usage("can't read the file: %v", err)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil // some editors write a byte order mark
}

type contentDeleteCommand struct {
	contentArgument
	yesFlag
}

func (c *contentDeleteCommand) Run(s *Session) error {
	id, err := c.id(s)
	if err != nil {
		return err
	}
	if err := s.confirm(c.Yes, "Delete the content of the page %s?", c.Page); err != nil {
		return err
	}
	return s.done(s.Client.Content.Delete(s.ctx(), id, galley.ContentQuery{Locale: c.Locale}), "Deleted the content of the page %s from the draft.", c.Page)
}

type contentDiffCommand struct {
	contentArgument

	From string `help:"Version to compare from (default ref:live)." default:"ref:live" placeholder:"VERSION"`
	To   string `help:"Version to compare with (default ref:draft)." default:"ref:draft" placeholder:"VERSION"`
}

func (c *contentDiffCommand) Run(s *Session) error {
	id, err := c.id(s)
	if err != nil {
		return err
	}
	diff, err := s.Client.Content.Diff(s.ctx(), id, galley.ContentDiffQuery{From: c.From, To: c.To, Locale: c.Locale}, s.raw())
	if err != nil || s.output != "table" {
		return s.show(err)
	}
	if len(diff.Patch) == 0 {
		s.note("The versions have the same content.")
	}
	var b strings.Builder
	for _, op := range diff.Patch {
		b.WriteString(s.diffLine(op.Op, fmt.Sprintf("%-7s %s %s", op.Op, printable(op.Path), printable(string(op.Value)))))
	}
	return s.print(b.String())
}
