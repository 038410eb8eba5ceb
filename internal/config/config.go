// Package config reads settings: flags win over variables, variables over the
// file. It knows what settings there are, not what they do.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"

	"galley/internal/ratelimit"
)

// Store says where everything is kept.
type Store struct {
	Data        string `help:"Folder of the embedded SQLite database (default ${default})." default:"./galley-data" env:"GALLEY_DATA" placeholder:"DIR"`
	DatabaseURL string `help:"PostgreSQL database to use instead." env:"GALLEY_DATABASE_URL" placeholder:"postgres://USER:PASSWORD@HOST/NAME"`

	// URLPassedOver says that a database was named, too, but not by a flag.
	URLPassedOver bool `kong:"-"`
}

// AfterApply lets a folder that a flag names win over a database that a variable
// or the file does: what is typed is meant. Otherwise the database wins.
func (s *Store) AfterApply(ctx *kong.Context) error {
	if s.DatabaseURL != "" && typed(ctx, "data") && !typed(ctx, "database-url") {
		s.DatabaseURL, s.URLPassedOver = "", true
	}
	return nil
}

// AfterApply passes over what belongs to a database that is passed over.
func (s *Server) AfterApply(ctx *kong.Context) error {
	if err := s.Store.AfterApply(ctx); err != nil || !s.URLPassedOver {
		return err
	}
	if !typed(ctx, "listen-url") {
		s.ListenURL = ""
	}
	if !typed(ctx, "replica-url") {
		s.ReplicaURL = ""
	}
	return nil
}

// PassesOver is what to say of a database that was named and is not used; "" if
// there is none.
func (s *Store) PassesOver() string {
	if !s.URLPassedOver {
		return ""
	}
	return "the database URL is not used: --data names a folder, and flags win over variables and the file"
}

// typed tells whether a setting is given as a flag.
func typed(ctx *kong.Context, name string) bool {
	return slices.ContainsFunc(ctx.Path, func(step *kong.Path) bool {
		return step.Flag != nil && step.Flag.Name == name && !step.Resolved
	})
}

func hasVariable(flag *kong.Flag) bool {
	return slices.ContainsFunc(flag.Envs, func(name string) bool {
		_, ok := os.LookupEnv(name)
		return ok
	})
}

// Server says how the service runs.
type Server struct {
	Store

	ReplicaURL    string         `help:"Hot standby of the PostgreSQL database, to read from when it is up to date." env:"GALLEY_REPLICA_URL" placeholder:"postgres://USER:PASSWORD@HOST/NAME"`
	ListenURL     string         `help:"Direct way to the database for notifications, where --database-url leads through PgBouncer." env:"GALLEY_LISTEN_URL" placeholder:"postgres://USER:PASSWORD@HOST/NAME"`
	RedisURL      string         `help:"Redis in which several nodes count requests together." env:"GALLEY_REDIS_URL" placeholder:"redis://HOST:6379/0"`
	Addr          string         `help:"Address to listen on (default ${default})." default:"127.0.0.1:8080" env:"GALLEY_ADDR" placeholder:"HOST:PORT"`
	AppRate       ratelimit.Rate `help:"Requests of one App key: REQUESTS/SECONDS, or off (default ${default})." default:"60000/60" env:"GALLEY_APP_RATE" placeholder:"RATE"`
	SiteRate      ratelimit.Rate `help:"Requests of one Site key (default ${default})." default:"60000/60" env:"GALLEY_SITE_RATE" placeholder:"RATE"`
	AuthRate      ratelimit.Rate `help:"Failed authentications of one client address (default ${default})." default:"600/60" env:"GALLEY_AUTH_RATE" placeholder:"RATE"`
	GuardShare    float64        `help:"Share of a site's live pages that a publish may take away unconfirmed (default ${default})." default:"0.5" env:"GALLEY_GUARD_SHARE" placeholder:"SHARE"`
	GuardPages    int            `help:"Number of live pages that a publish may always take away (default fewer than ${default})." default:"10" env:"GALLEY_GUARD_PAGES" placeholder:"PAGES"`
	History       time.Duration  `help:"How long past publishes are kept; 0 is forever (default ${default})." name:"history-retention" default:"0s" env:"GALLEY_HISTORY_RETENTION" placeholder:"DURATION"`
	Audit         time.Duration  `help:"How long the audit trail is kept; 0 is forever (default ${default})." name:"audit-retention" default:"0s" env:"GALLEY_AUDIT_RETENTION" placeholder:"DURATION"`
	CacheSize     int64          `help:"Bytes of answers, and of what lists showed, that are kept in memory; 0 keeps none (default ${default})." default:"134217728" env:"GALLEY_CACHE_SIZE" placeholder:"BYTES"`
	DrainDelay    time.Duration  `help:"How long to go on serving, not ready, after SIGTERM, so that a load balancer notices (default ${default})." default:"1s" env:"GALLEY_DRAIN_DELAY" placeholder:"DURATION"`
	SiteRetention time.Duration  `help:"How long a deleted site can be restored, at least; 0 is until the next hourly round (default ${default})." default:"720h" env:"GALLEY_SITE_RETENTION" placeholder:"DURATION"`
	LogLevel      string         `help:"Least level that is logged: debug, info, warn or error (default ${default})." default:"info" enum:"debug,info,warn,error" env:"GALLEY_LOG_LEVEL" placeholder:"LEVEL"`

	Edge

	BootstrapKey         string `help:"App key of the first start; 'galley keygen' prints one." env:"GALLEY_BOOTSTRAP_KEY" placeholder:"KEY"`
	BootstrapWorkspaceID string `help:"Workspace id of the first start." env:"GALLEY_BOOTSTRAP_WORKSPACE_ID" placeholder:"ID"`
}

// File resolves settings from a YAML file of flag names.
type File struct {
	name   string
	values map[string]any
}

// LoadFile reads a configuration file.
func LoadFile(name string) (*File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("can't read the configuration file: %w", err)
	}
	f := &File{name: name}
	documents := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, byteOrderMark)))
	if err := documents.Decode(&f.values); err != nil && !errors.Is(err, io.EOF) { // an empty one sets nothing
		return nil, fmt.Errorf("the configuration file %s is not YAML: %s", name, yaml.FormatError(err, false, false))
	}
	if err := documents.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the configuration file %s has more than one YAML document: what is after the line --- would be ignored", name)
	}
	return f, nil
}

// byteOrderMark is what some editors begin a file with.
var byteOrderMark = []byte("\ufeff")

// Validate refuses settings that no command has: a typo must not pass
// silently.
func (f *File) Validate(app *kong.Application) error {
	var known []string
	var visit func(*kong.Node)
	visit = func(n *kong.Node) {
		for _, flag := range n.Flags {
			known = append(known, flag.Name)
		}
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(app.Node)
	var unknown []string
	for name := range f.values {
		if !slices.Contains(known, name) || name == "config" || name == "help" {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return fmt.Errorf("the configuration file %s has unknown settings: %s", f.name, strings.Join(unknown, ", "))
}

// Resolve gives a flag its value from the file, unless its variable is set.
func (f *File) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if hasVariable(flag) {
		return nil, nil //nolint:nilnil // kong's way to say that there is no value here
	}
	value, ok := f.values[flag.Name]
	if !ok {
		return nil, nil //nolint:nilnil // as above
	}
	switch value.(type) {
	case []any, map[string]any, nil:
		return nil, errors.New("must be a plain value in the configuration file")
	}
	return fmt.Sprint(value), nil
}

// ForgetEmptyVariables lets a variable that is empty be one that is not set: the
// files that start programs can often only leave a value out, not the name.
func ForgetEmptyVariables() {
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" && strings.HasPrefix(name, "GALLEY_") {
			_ = os.Unsetenv(name) // it fails on bad names alone
		}
	}
}

// UnknownVariables are those in the environment that begin like ours and that
// no setting has.
func UnknownVariables(app *kong.Application, environ []string) []string {
	known := map[string]bool{}
	var visit func(*kong.Node)
	visit = func(n *kong.Node) {
		for _, flag := range n.Flags {
			for _, env := range flag.Envs {
				known[env] = true
			}
		}
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(app.Node)
	var unknown []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "GALLEY_") && !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}
