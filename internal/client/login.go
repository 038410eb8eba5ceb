package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"golang.org/x/term"

	galley "galley/sdk/go"
)

type loginCommand struct {
	URL     string `arg:"" help:"URL of the server, such as https://cms.example.com."`
	KeyFile string `help:"File that has the key; otherwise it is asked for, or read from the standard input." placeholder:"FILE"`
	Profile string `help:"Name of the profile (default: the host of the URL)." placeholder:"NAME"`
}

func (c *loginCommand) Run(t *Terminal) error {
	if err := checkURL(c.URL); err != nil {
		return err
	}
	key, err := c.readKey(t)
	if err != nil {
		return err
	}
	p := profile{strings.TrimSuffix(c.URL, "/"), key}
	client, err := connect(p, galley.WithRetries(0, 0))
	if err != nil {
		return err
	}
	me, err := client.Me(t.Ctx)
	if err != nil {
		return err
	}
	all, err := loadProfiles()
	if err != nil {
		return err
	}
	name := c.Profile
	if name == "" {
		u, _ := url.Parse(c.URL) // checked above
		name = u.Host
	}
	if all.Profiles == nil {
		all.Profiles = map[string]profile{}
	}
	all.Profiles[name], all.Current = p, name
	if err := all.save(); err != nil {
		return err
	}
	return t.print(fmt.Sprintf("Signed in to %s with %s. The profile is %s.\n", p.URL, describe(me), name))
}

// describe says whose key it is and what it may do.
func describe(me galley.Credential) string {
	switch {
	case me.Kind != "app":
		return "the key of a " + me.Kind + ", which can only read"
	case me.Name != nil:
		return fmt.Sprintf("the key of the app %s (%s)", printable(*me.Name), strings.Join(me.Scopes, ", "))
	}
	return "an App key"
}

// readKey reads the key where other users of the machine do not see it.
func (c *loginCommand) readKey(t *Terminal) (string, error) {
	var text string
	switch {
	case c.KeyFile != "":
		file, err := os.ReadFile(c.KeyFile)
		if err != nil {
			return "", fmt.Errorf("can't read the key: %w", err)
		}
		text = string(file)
	case isTerminal(t.In):
		typed, err := askSecret(t, "Key for "+c.URL+": ")
		if err != nil {
			return "", fmt.Errorf("can't read the key: %w", err)
		}
		text = typed
	default:
		text, _ = bufio.NewReader(t.In).ReadString('\n') // an empty one is refused below
	}
	key := strings.TrimSpace(text)
	if key == "" || strings.ContainsAny(key, " \t\n") {
		return "", usage("that is no key: give one on the standard input or in --key-file; 'galley apps create' prints a new one on the server")
	}
	return key, nil
}

// askSecret reads a line that the terminal does not show, from before the question on.
func askSecret(t *Terminal, question string) (string, error) {
	file := int(t.In.Fd())
	before, err := term.MakeRaw(file)
	if err != nil {
		return "", err
	}
	secret, err := t.await(func() (string, error) {
		return term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{t.In, t.Err}, "").ReadPassword(question)
	})
	err = errors.Join(err, term.Restore(file, before))
	if errors.Is(err, io.EOF) { // Ctrl-C is a character now
		err = context.Canceled
	}
	return secret, err
}

type logoutCommand struct {
	Profile string `help:"Name of the profile (default: the current one)." placeholder:"NAME"`
}

func (c *logoutCommand) Run(t *Terminal) error {
	all, err := loadProfiles()
	if err != nil {
		return err
	}
	name := c.Profile
	if name == "" {
		name = all.Current
	}
	if _, ok := all.Profiles[name]; !ok {
		return usage("there is no profile to forget.%s", suggest(name, all.names()))
	}
	delete(all.Profiles, name)
	if all.Current == name {
		all.Current = ""
		if names := all.names(); len(names) == 1 {
			all.Current = names[0]
		}
	}
	if err := all.save(); err != nil {
		return err
	}
	return t.print(fmt.Sprintf("Forgot the key of %s. It still works: 'galley keys delete' revokes it.\n", name))
}
