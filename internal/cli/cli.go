// Package cli is the command line. It is the only package that knows all others:
// it opens the store, creates the service and the HTTP interface, and runs them.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"galley/internal/client"
	"galley/internal/cms"
	"galley/internal/config"
	"galley/internal/httpapi"
)

// Version is the program's version.
const Version = "0.1.0"

// commands is the tree of commands.
type commands struct {
	client.Commands `group:"client"`
	serverCommands
}

// commandsFor is the tree that a command is looked for in. A server keeps it in memory, so it
// does without the commands of clients.
func commandsFor(args []string) any {
	if len(args) > 0 && args[0] == "serve" {
		return &serverCommands{}
	}
	return &commands{}
}

// serverCommands are for a server and its store.
type serverCommands struct {
	Config string `help:"YAML file of settings, with the names of the flags." env:"GALLEY_CONFIG" placeholder:"FILE"`

	Serve       serveCommand       `cmd:"" help:"Start the service."`
	Apps        appsCommand        `cmd:"" help:"Create, list, rate-limit and revoke apps."`
	Workspaces  workspacesCommand  `cmd:"" help:"List workspaces and limit what they may have."`
	Console     consoleCommand     `cmd:"" help:"Print a link that signs you in to the console."`
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
	parser, err := kong.New(commandsFor(args),
		kong.Name("galley"),
		kong.Description("Galley manages the content of websites over a REST API.\n\nStart a server with 'galley serve', sign in to one with 'galley login URL'. Get help with 'galley help COMMAND'."),
		kong.Writers(out, errOut),
		kong.Exit(func(code int) { exit = code }),
		config.Durations,
		client.FieldTypes,
		kong.ExplicitGroups([]kong.Group{{Key: config.ClientGroup, Title: "Commands for the sites of a server:"}}),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, NoExpandSubcommands: true}),
	)
	if err != nil {
		panic(err) // the commands are declared wrong
	}
	for _, command := range parser.Model.Leaves(false) {
		command.Detail = cmp.Or(details[command.Path()], client.Examples[command.Path()])
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
	if badFile != nil && (err != nil || config.HasSettings(command.Selected())) {
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
	if err := cmp.Or(command.Run(t, &client.Terminal{Ctx: ctx, In: os.Stdin, Out: out, Err: errOut}), t.lost); err != nil {
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
	message, code := err.Error(), 1
	if explained, exit, ok := client.Explain(err); ok {
		message, code = explained, exit
	}
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
	return code
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

// details are the longer help texts of the commands, by their names.
var details = map[string]string{
	"serve": `Examples:
  galley serve
  galley serve --addr :80 --data /var/lib/galley
  galley serve --database-url postgres://galley:secret@db.internal/galley
  galley serve --config /etc/galley.yaml`,
	"backup": `The backup is a consistent snapshot, taken while the server runs and writes. The
format is the same for both databases: 'galley restore' reads it into either.

Examples:
  galley backup /backups/monday.galley
  galley backup --database-url postgres://galley@localhost/galley monday.galley
  galley backup - | ssh vault 'cat > monday.galley'`,
	"restore": `The store must be empty. The file is verified before anything is written. Ids and
keys stay the same.

Examples:
  galley restore --data ./new-data /backups/monday.galley
  galley restore --database-url postgres://galley@localhost/new /backups/monday.galley`,
	"copy": `The copy is a consistent snapshot. Stop the server first: later writes are not copied.

Examples:
  galley copy --from ./galley-data --to postgres://galley@localhost/galley
  galley copy --from postgres://galley@localhost/galley --to ./galley-data`,
	"doctor": `Takes the same settings as 'galley serve', changes nothing, and can run beside a
server. The exit code is 1 if a check fails.

Examples:
  galley doctor --data /var/lib/galley
  galley doctor --config /etc/galley.yaml --deep --json`,
	"apps create": `Examples:
  galley apps create --name Importer
  galley apps create --name Reader --scopes read --rate 600/60 --json
  galley apps create --name Agency --new-workspace "Second customer"`,
	"workspaces limit": `A write that would exceed a limit is refused with 403. Limits apply within a
second; what a workspace has already is not removed. Pages are those of drafts,
without deleted ones. Content bytes are those of JSON, in every version, each
content of a site once. Deleted sites do not count.

Examples:
  galley workspaces limit ID --sites 10 --pages 5000
  galley workspaces limit ID --content-bytes 1000000000
  galley workspaces limit ID --pages none`,
	"apps list": "Example:\n  galley apps list",
	"apps rate": `The limit applies within a tenth of a second on running servers.

Example:
  galley apps rate 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b 600/60`,
	"apps scopes": "Example:\n  galley apps scopes 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b read,write,publish,admin,operator",
	"apps revoke": "Example:\n  galley apps revoke 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"healthcheck": "Example:\n  galley healthcheck --addr 127.0.0.1:8080",
	"migrate":     "Examples:\n  galley migrate --data ./galley-data\n  galley migrate --database-url postgres://galley@localhost/galley",
}
