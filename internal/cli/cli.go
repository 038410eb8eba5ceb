// Package cli is the command line. It is the only package that knows all others:
// it opens the store, creates the service and the HTTP interface, and runs them.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"galley/internal/cms"
	"galley/internal/config"
	"galley/internal/httpapi"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

// Version is the program's version.
const Version = "0.1.0"

// commands is the tree of commands.
type commands struct {
	Config string `help:"YAML file of settings, with the names of the flags." env:"GALLEY_CONFIG" placeholder:"FILE"`

	Serve       serveCommand       `cmd:"" help:"Start the service."`
	Apps        appsCommand        `cmd:"" help:"Create, list, rate-limit and revoke apps."`
	Migrate     migrateCommand     `cmd:"" help:"Update the database schema; 'galley serve' does this too."`
	Backup      backupCommand      `cmd:"" help:"Back up the store to a file, while the server runs."`
	Restore     restoreCommand     `cmd:"" help:"Restore a backup to an empty store."`
	Copy        copyCommand        `cmd:"" help:"Copy a store to an empty one, such as from SQLite to PostgreSQL."`
	Doctor      doctorCommand      `cmd:"" help:"Check the settings and the store, and suggest fixes."`
	Keygen      keygenCommand      `cmd:"" help:"Print a new App key for GALLEY_BOOTSTRAP_KEY."`
	Openapi     openapiCommand     `cmd:"" help:"Print the OpenAPI document."`
	Healthcheck healthcheckCommand `cmd:"" help:"Check whether a running server is ready: exit code 0 if it is, 1 if not."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

// terminal is the input and output of a command.
type terminal struct {
	ctx    context.Context //nolint:containedctx // the context of the one command that runs
	out    io.Writer
	err    io.Writer
	parser *kong.Kong
	lost   error // of the first write to out that failed
}

func (t *terminal) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(t.out, format, args...); err != nil && t.lost == nil {
		t.lost = fmt.Errorf("can't write the output: %w", err)
	}
}

// Run runs one command and returns its exit code.
func Run(ctx context.Context, args []string, out, errOut io.Writer) int {
	exit := -1
	config.ForgetEmptyVariables()
	parser, err := kong.New(&commands{},
		kong.Name("galley"),
		kong.Description("Galley manages the content of websites over a REST API.\n\nStart the server with 'galley serve'. Get help with 'galley help COMMAND'."),
		kong.Writers(out, errOut),
		kong.Exit(func(code int) { exit = code }),
		config.Durations,
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
	)
	if err != nil {
		panic(err) // the commands are declared wrong
	}
	for _, command := range parser.Model.Leaves(false) {
		command.Detail = details[command.Path()]
	}
	t := &terminal{ctx: ctx, out: out, err: errOut, parser: parser}
	badFile := withFile(parser, args)
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	command, err := parser.Parse(args)
	if exit >= 0 { // help was printed
		return exit
	}
	if badFile != nil && (err != nil || len(command.Selected().Flags) > 0) { // commands without settings don't need it
		return t.fail(badFile)
	}
	if err != nil {
		_ = t.fail(err)
		_, _ = fmt.Fprintln(errOut, "Run 'galley help' for usage.")
		return 2
	}
	if store, ok := command.Selected().Target.Addr().Interface().(interface{ Warning() string }); ok {
		if warning := store.Warning(); warning != "" && command.Command() != "serve" { // serve logs it
			_, _ = fmt.Fprintln(errOut, "galley: "+warning)
		}
	}
	if err := cmp.Or(command.Run(t), t.lost); err != nil {
		return t.fail(err)
	}
	return 0
}

// withFile adds the settings of the configuration file to the parser.
func withFile(parser *kong.Kong, args []string) error {
	name := os.Getenv("GALLEY_CONFIG")
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--config="); ok {
			name = value
		} else if arg == "--config" && i+1 < len(args) {
			name = args[i+1]
		}
	}
	if name == "" {
		return nil
	}
	file, err := config.LoadFile(name)
	if err != nil {
		return err
	}
	if err := file.Validate(parser.Model); err != nil {
		return err
	}
	return kong.Resolvers(file).Apply(parser)
}

func (t *terminal) fail(err error) int {
	message := err.Error()
	if e, ok := errors.AsType[*cms.Error](err); ok {
		message = e.Message
		for _, d := range e.Details {
			message = fmt.Sprintf("%s; %s %s", message, d.Field, d.Message)
		}
		if cause := errors.Unwrap(e); cause != nil {
			message += ": " + cause.Error()
		}
	}
	_, _ = fmt.Fprintln(t.err, "galley: "+message)
	return 1
}

// errNoName refuses an empty name, which would be the current folder.
var errNoStore = errors.New("the name of the store is empty: pass a folder or the URL of a database")

func openStore(c config.Store, observe sqlstore.Observe) (*sqlstore.Store, error) {
	if c.DatabaseURL != "" {
		return sqlstore.OpenPostgres(c.DatabaseURL, observe)
	}
	if c.Data == "" {
		return nil, errNoStore
	}
	return sqlstore.OpenSQLite(c.Data, observe)
}

// newLog creates the server's log: text on a terminal, and otherwise buffered JSON
// lines. flush writes the buffered lines.
func newLog(out io.Writer, level string) (log *slog.Logger, flush func()) {
	var options slog.HandlerOptions
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err == nil {
		options.Level = least
	}
	if isTerminal(out) {
		options.ReplaceAttr = readableDuration
		return slog.New(slog.NewTextHandler(out, &options)), func() {}
	}
	buffer := newLogBuffer(out)
	return slog.New(slog.NewJSONHandler(buffer, &options)), buffer.Flush
}

// readableDuration writes the duration of a request as people read it: 1.24ms.
func readableDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Key != httpapi.DurationKey {
		return a
	}
	return slog.Duration("duration", time.Duration(a.Value.Float64()*float64(time.Millisecond)))
}

type versionCommand struct{}

func (versionCommand) Run(t *terminal) error {
	commit := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = " (" + s.Value + ")"
			}
		}
	}
	t.printf("galley %s%s\n", Version, commit)
	return nil
}

type openapiCommand struct{}

func (openapiCommand) Run(t *terminal) error {
	t.printf("%s", httpapi.Document(Version))
	return nil
}

type keygenCommand struct{}

func (keygenCommand) Run(t *terminal) error {
	t.printf("%s\n", cms.NewAppKey())
	return nil
}

type migrateCommand struct{ config.Store }

func (c *migrateCommand) Run(t *terminal) error {
	store, err := openStore(c.Store, nil)
	if err != nil {
		return err
	}
	versions, err := store.Migrate(t.ctx)
	if err != nil {
		return errors.Join(explain(c.Store, err), store.Close())
	}
	if len(versions) == 0 {
		t.printf("The schema is up to date.\n")
	}
	for _, v := range versions {
		t.printf("Applied schema version %d.\n", v)
	}
	return store.Close()
}

// withService runs work on the store of a command. A store that does not exist is
// created if create is set, and refused otherwise.
func withService(t *terminal, c config.Store, create bool, work func(*service.Service) error) (err error) {
	open := openExisting
	if create {
		open = func(c config.Store) (*sqlstore.Store, error) { return openStore(c, nil) }
	}
	store, err := open(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(explain(c, err), store.Close()) }()
	isNew, err := store.IsNew(t.ctx)
	switch {
	case err != nil:
		return err
	case isNew && !create:
		return errors.New("there is no store yet: create one with 'galley serve' or 'galley migrate'")
	case isNew:
		_, _ = fmt.Fprintln(t.err, "galley: there was no store yet, created a new one; check that the server uses it too")
	}
	if _, err := store.Migrate(t.ctx); err != nil {
		return err
	}
	return work(service.New(store, now, httpapi.AuditState))
}
