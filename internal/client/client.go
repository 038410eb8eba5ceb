// Package client is the command line as a client of a server. It knows the Go SDK and
// terminals, and nothing of the service behind the interface.
package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Commands are the commands that talk to a server.
type Commands struct {
	Login     loginCommand     `cmd:"" help:"Sign in to a server with a key."`
	Logout    logoutCommand    `cmd:"" help:"Forget the key of a server."`
	Profiles  profilesCommand  `cmd:"" help:"List the servers that you are signed in to, or switch between them."`
	Sites     sitesCommand     `cmd:"" help:"Manage sites."`
	Locales   localesCommand   `cmd:"" help:"Manage the locales of a site."`
	Pages     pagesCommand     `cmd:"" help:"Manage pages and their content."`
	Routes    routesCommand    `cmd:"" help:"Manage the pathnames that other systems serve."`
	Redirects redirectsCommand `cmd:"" help:"Manage redirects."`
	Changes   changesCommand   `cmd:"" help:"Show what a publish would change."`
	Publish   publishCommand   `cmd:"" help:"Publish the draft of a site, after showing what that changes."`
	Publishes publishesCommand `cmd:"" help:"Show and restore what was published, and cancel what is scheduled."`
	Previews  previewsCommand  `cmd:"" help:"Manage links that show a draft."`
	Resolve   resolveCommand   `cmd:"" help:"Show what a visitor of a URL gets, and why."`
	Keys      keysCommand      `cmd:"" help:"Manage apps and their keys."`
	Webhooks  webhooksCommand  `cmd:"" help:"Manage webhooks, and see what they delivered."`
	Events    eventsCommand    `cmd:"" help:"List or follow what happens."`
	Audit     auditCommand     `cmd:"" help:"List who wrote what."`

	Export exportCommand `cmd:"" help:"Write the draft of a site to a folder of files, for git."`
	Plan   planCommand   `cmd:"" help:"Show what 'galley apply' would do to a site."`
	Apply  applyCommand  `cmd:"" help:"Make a site what a folder of files has."`

	Completion completionCommand `cmd:"" help:"Print the script that completes commands in a shell."`
	Complete   completeCommand   `cmd:"" hidden:""`
}

// Terminal is where a command reads and writes.
type Terminal struct {
	Ctx context.Context //nolint:containedctx // the context of the one command that runs
	In  *os.File
	Out io.Writer
	Err io.Writer
}

// print writes to the standard output. A write that fails is an error: somebody waits for
// the output.
func (t *Terminal) print(text string) error {
	if _, err := io.WriteString(t.Out, text); err != nil {
		return fmt.Errorf("can't write the output: %w", err)
	}
	return nil
}

// note writes a remark for a person to the standard error, if a terminal shows it.
func (t *Terminal) note(format string, args ...any) {
	if isTerminal(t.Err) {
		_, _ = fmt.Fprintf(t.Err, format+"\n", args...)
	}
}

// isTerminal reports whether a person sees what is written, or types what is read.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// width returns the number of columns of the terminal, or 0 if there is none.
func (t *Terminal) width() int {
	if file, ok := t.Out.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// colors reports whether the output may have colors.
func (t *Terminal) colors() bool { return isTerminal(t.Out) && os.Getenv("NO_COLOR") == "" }

// confirm asks before something is destroyed. Without a terminal nobody can answer, so the
// command has to say --yes.
func (t *Terminal) confirm(yes bool, format string, args ...any) error {
	question := fmt.Sprintf(format, args...)
	if yes {
		return nil
	}
	if !isTerminal(t.In) || !isTerminal(t.Err) {
		return usage("%s This is not a terminal: confirm with --yes", question)
	}
	_, _ = fmt.Fprintf(t.Err, "%s [y/N] ", question)
	answer, err := t.await(func() (string, error) { return bufio.NewReader(t.In).ReadString('\n') })
	if t.Ctx.Err() != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return &ExitError{Code: ExitRefused, Message: "Nothing was done."}
}

// await waits for what a person types, until the command is interrupted.
func (t *Terminal) await(read func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	typed := make(chan answer, 1)
	go func() {
		text, err := read()
		typed <- answer{text, err}
	}()
	select {
	case a := <-typed:
		return a.text, a.err
	case <-t.Ctx.Done():
		_, _ = fmt.Fprintln(t.Err)
		return "", t.Ctx.Err()
	}
}

// The exit codes of commands.
const (
	ExitRefused = 1 // by the server, or by the person who was asked
	ExitUsage   = 2
	ExitMovedOn = 3 // the plan is not the plan any more
)

// ExitError ends a command with a message and an exit code.
type ExitError struct {
	Code    int
	Message string
}

func (e *ExitError) Error() string { return e.Message }

// usage is an error of a command that was given something wrong.
func usage(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Message: fmt.Sprintf(format, args...)}
}
