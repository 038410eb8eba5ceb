// Package cli is the command line. It is the only room where concrete types
// meet: it opens the store, makes the service and the edge, and runs them.
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
	"strings"

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
	Config string `help:"YAML file of settings, named as the flags are." env:"GALLEY_CONFIG" placeholder:"FILE"`

	Serve       serveCommand       `cmd:"" help:"Start the service."`
	Apps        appsCommand        `cmd:"" help:"Make, list, limit and revoke apps, whether or not a server runs."`
	Migrate     migrateCommand     `cmd:"" help:"Bring the database schema up to date; 'serve' does so too."`
	Backup      backupCommand      `cmd:"" help:"Write everything to one file, while the server runs."`
	Restore     restoreCommand     `cmd:"" help:"Fill an empty store from such a file."`
	Copy        copyCommand        `cmd:"" help:"Copy a store into an empty one, from SQLite to PostgreSQL or back."`
	Doctor      doctorCommand      `cmd:"" help:"Look at settings and store, and say what to do about what is wrong."`
	Keygen      keygenCommand      `cmd:"" help:"Print a new App key for GALLEY_BOOTSTRAP_KEY."`
	Openapi     openapiCommand     `cmd:"" help:"Print the interface document."`
	Healthcheck healthcheckCommand `cmd:"" help:"Ask a running server whether it is ready: exit code 0 if so, 1 if not."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

// terminal is where a command speaks to people and programs.
type terminal struct {
	ctx    context.Context //nolint:containedctx // the context of the one command that runs
	out    io.Writer
	err    io.Writer
	parser *kong.Kong
	lost   error // why something that was to be said could not be
}

func (t *terminal) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(t.out, format, args...); err != nil && t.lost == nil {
		t.lost = fmt.Errorf("what was said is lost: %w", err)
	}
}

// Run runs one command and returns its exit code.
func Run(ctx context.Context, args []string, out, errOut io.Writer) int {
	exit := -1
	config.ForgetEmptyVariables()
	parser, err := kong.New(&commands{},
		kong.Name("galley"),
		kong.Description("Galley manages the content of websites over a REST interface.\n\nStart with: galley serve"),
		kong.Writers(out, errOut),
		kong.Exit(func(code int) { exit = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
	)
	if err != nil {
		panic(err) // the tree of commands itself is wrong
	}
	t := &terminal{ctx: ctx, out: out, err: errOut, parser: parser}
	badFile := withFile(parser, args)
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if exit >= 0 { // help was asked for
		return exit
	}
	if badFile != nil && (err != nil || len(command.Selected().Flags) > 0) { // some have no settings
		return t.fail(badFile)
	}
	if err != nil {
		_ = t.fail(err)
		_, _ = fmt.Fprintln(errOut, "Run with --help to see what there is.")
		return 2
	}
	if store, ok := command.Selected().Target.Addr().Interface().(interface{ PassesOver() string }); ok {
		// A server says it in its log.
		if warning := store.PassesOver(); warning != "" && command.Command() != "serve" {
			_, _ = fmt.Fprintln(errOut, "galley: "+warning)
		}
	}
	if err := cmp.Or(command.Run(t), t.lost); err != nil {
		return t.fail(err)
	}
	return 0
}

// withFile makes the settings of a configuration file known to the parser.
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

// errNoName refuses an empty name, which would stand for the folder one is in.
var errNoName = errors.New("the store has no name: name a folder, or the URL of a database")

func openStore(c config.Store, observe sqlstore.Observe) (*sqlstore.Store, error) {
	if c.DatabaseURL != "" {
		return sqlstore.OpenPostgres(c.DatabaseURL, observe)
	}
	if c.Data == "" {
		return nil, errNoName
	}
	return sqlstore.OpenSQLite(c.Data, observe)
}

// newLog makes the server's log: lines for people on a terminal, and else JSON,
// a moment's lines at a time. flush writes what is left.
func newLog(out io.Writer, level string) (log *slog.Logger, flush func()) {
	var options slog.HandlerOptions
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err == nil {
		options.Level = least
	}
	if file, ok := out.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return slog.New(slog.NewTextHandler(out, &options)), func() {}
		}
	}
	buffer := newLogBuffer(out)
	return slog.New(slog.NewJSONHandler(buffer, &options)), buffer.Flush
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

type keygenCommand struct{}

func (keygenCommand) Run(t *terminal) error {
	t.printf("%s\n", cms.NewAppKey())
	return nil
}

type migrateCommand struct{ config.Store }

func (c *migrateCommand) Help() string {
	return "Examples:\n  galley migrate --data ./galley-data\n  galley migrate --database-url postgres://galley@localhost/galley"
}

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

// withService runs a command's work on the store that it names, which has to be
// there.
func withService(t *terminal, c config.Store, work func(*service.Service) error) error {
	store, err := openExisting(c)
	if err != nil {
		return err
	}
	isNew, err := store.IsNew(t.ctx)
	if err == nil && isNew {
		err = errors.New("there is no store yet: 'galley serve' or 'galley migrate' makes one")
	}
	if err != nil {
		return errors.Join(explain(c, err), store.Close())
	}
	return serviceOn(t, c, store, work)
}

// withNewService is withService for work that may be the first on its store.
func withNewService(t *terminal, c config.Store, work func(*service.Service) error) error {
	store, err := openStore(c, nil)
	if err != nil {
		return err
	}
	isNew, err := store.IsNew(t.ctx)
	if err != nil {
		return errors.Join(explain(c, err), store.Close())
	}
	if isNew {
		_, _ = fmt.Fprintln(t.err, "galley: there was no store yet: a new one is made, of which no running server knows")
	}
	return serviceOn(t, c, store, work)
}

func serviceOn(t *terminal, c config.Store, store *sqlstore.Store, work func(*service.Service) error) error {
	if _, err := store.Migrate(t.ctx); err != nil {
		return errors.Join(explain(c, err), store.Close())
	}
	return errors.Join(explain(c, work(service.New(store, now, httpapi.Depict))), store.Close())
}
