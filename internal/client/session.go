package client

import (
	"context"
	"fmt"
	"os"

	galley "galley/sdk/go"
)

// Flags are the flags of every command that calls a server.
type Flags struct {
	Profile string `help:"Profile to use; 'galley profiles' lists them." env:"GALLEY_PROFILE" placeholder:"NAME"`
	Output  string `help:"Form of the output: table, json, yaml or ids (default ${default})." short:"o" enum:"table,json,yaml,ids" default:"table" placeholder:"FORM"`
}

// ProvideSession connects a command with the server. kong calls it for commands whose Run
// takes a session.
func (f *Flags) ProvideSession(t *Terminal) (*Session, error) {
	return f.Open(t)
}

// Session is a command's connection to a server, and its output.
type Session struct {
	*Terminal

	Client *galley.Client
	URL    string // of the server
	output string
	body   []byte // of the latest response that was asked for by raw
}

// Retries are fewer than a program's: a person waits.
const retries = 3

// Open connects with the server of the variables or the profile. It sends nothing yet.
func (f *Flags) Open(t *Terminal) (*Session, error) {
	p, err := f.find()
	if err != nil {
		return nil, err
	}
	client, err := connect(p, galley.WithRetries(retries, firstPause))
	if err != nil {
		return nil, err
	}
	return &Session{Terminal: t, Client: client, URL: p.URL, output: f.Output}, nil
}

// find returns the server and key to use.
func (f *Flags) find() (profile, error) {
	url, key := os.Getenv("GALLEY_URL"), os.Getenv("GALLEY_KEY")
	if url != "" && key != "" {
		return profile{url, key}, nil
	}
	all, err := loadProfiles()
	if err != nil {
		return profile{}, err
	}
	name := f.Profile
	if name == "" {
		name = all.Current
	}
	kept, ok := all.Profiles[name]
	switch {
	case !ok && f.Profile != "":
		return profile{}, usage("there is no profile %q.%s", name, suggest(name, all.names()))
	case url != "" && url != kept.URL:
		// The key of another server is not sent there.
		return profile{}, &ExitError{ExitRefused, fmt.Sprintf("GALLEY_URL is set to %s, and there is no key for it: set GALLEY_KEY, or unset GALLEY_URL", url)}
	case !ok:
		return profile{}, &ExitError{ExitRefused, "you are not signed in: run 'galley login URL', or set GALLEY_URL and GALLEY_KEY"}
	case key != "":
		kept.Key = key
	}
	return kept, nil
}

// connect returns a client for a profile.
func connect(p profile, options ...galley.Option) (*galley.Client, error) {
	if err := checkURL(p.URL); err != nil {
		return nil, err
	}
	return galley.New(p.URL, append(options, galley.WithKey(p.Key), galley.WithUserAgent("galley-cli"))...)
}

// ctx is the context of the command.
func (s *Session) ctx() context.Context { return s.Ctx }

// raw keeps the body of a response for show.
func (s *Session) raw() galley.RequestOption { return galley.Body(&s.body) }
