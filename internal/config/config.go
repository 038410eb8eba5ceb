// Package config reads settings: flags override variables, and variables override
// the file. It knows the names of settings, not their effects.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"

	"galley/internal/ratelimit"
)

// Store says where the data is stored.
type Store struct {
	Data        string `help:"Folder of the SQLite database (default ${default})." default:"./galley-data" env:"GALLEY_DATA" placeholder:"DIR"`
	DatabaseURL string `help:"PostgreSQL database to use instead of SQLite." env:"GALLEY_DATABASE_URL" placeholder:"postgres://USER:PASSWORD@HOST/NAME"`

	// URLIgnored reports that --data overrides a database URL of a variable or the
	// file.
	URLIgnored bool `kong:"-"`
}

// AfterApply lets the flag --data override a database URL of a variable or the
// file. Otherwise the database URL is used.
func (s *Store) AfterApply(ctx *kong.Context) error {
	if s.DatabaseURL != "" && typed(ctx, "data") && !typed(ctx, "database-url") {
		s.DatabaseURL, s.URLIgnored = "", true
	}
	return nil
}

// AfterApply also clears the other settings of a database that --data overrides.
func (s *Server) AfterApply(ctx *kong.Context) error {
	if err := s.Store.AfterApply(ctx); err != nil || !s.URLIgnored {
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

// Warning returns a warning about an ignored database URL, or "".
func (s *Store) Warning() string {
	if !s.URLIgnored {
		return ""
	}
	return "the database URL is not used: the flag --data overrides it"
}

// typed reports whether a setting is given as a flag.
func typed(ctx *kong.Context, name string) bool {
	return slices.ContainsFunc(ctx.Path, func(step *kong.Path) bool {
		return step.Flag != nil && step.Flag.Name == name && !step.Resolved
	})
}

// Server has the settings of the service.
type Server struct {
	Store

	ReplicaURL    string         `help:"Hot standby of the PostgreSQL database to read from while it is up to date." env:"GALLEY_REPLICA_URL" placeholder:"postgres://USER:PASSWORD@HOST/NAME"`
	ListenURL     string         `help:"Direct connection to the database for notifications when --database-url goes through PgBouncer." env:"GALLEY_LISTEN_URL" placeholder:"postgres://USER:PASSWORD@HOST/NAME"`
	RedisURL      string         `help:"Redis in which several nodes share their rate limits." env:"GALLEY_REDIS_URL" placeholder:"redis://HOST:6379/0"`
	Addr          string         `help:"Address to listen on (default ${default})." default:"127.0.0.1:8080" env:"GALLEY_ADDR" placeholder:"HOST:PORT"`
	AppRate       ratelimit.Rate `help:"Rate limit of each App key: REQUESTS/SECONDS or off (default ${default})." default:"60000/60" env:"GALLEY_APP_RATE" placeholder:"RATE"`
	SiteRate      ratelimit.Rate `help:"Rate limit of each Site key (default ${default})." default:"60000/60" env:"GALLEY_SITE_RATE" placeholder:"RATE"`
	AuthRate      ratelimit.Rate `help:"Rate limit of failed authentications from each client address (default ${default})." default:"600/60" env:"GALLEY_AUTH_RATE" placeholder:"RATE"`
	GuardShare    float64        `help:"Share of a site's live pages that a publish may remove without confirm (default ${default})." default:"0.5" env:"GALLEY_GUARD_SHARE" placeholder:"SHARE"`
	GuardPages    int            `help:"A publish that removes fewer live pages than this needs no confirm (default ${default})." default:"10" env:"GALLEY_GUARD_PAGES" placeholder:"PAGES"`
	History       time.Duration  `help:"How long to keep past publishes, such as 90d; 0 keeps them forever (default ${default})." name:"history-retention" default:"0s" env:"GALLEY_HISTORY_RETENTION" placeholder:"DURATION"`
	Events        time.Duration  `help:"How long to keep events, such as 30d; 0 keeps them forever (default ${default})." name:"event-retention" default:"30d" env:"GALLEY_EVENT_RETENTION" placeholder:"DURATION"`
	Audit         time.Duration  `help:"How long to keep the audit log, such as 400d; 0 keeps it forever (default ${default})." name:"audit-retention" default:"400d" env:"GALLEY_AUDIT_RETENTION" placeholder:"DURATION"`
	CacheSize     int64          `help:"Memory for cached responses, in bytes; 0 turns the cache off (default ${default})." default:"134217728" env:"GALLEY_CACHE_SIZE" placeholder:"BYTES"`
	MaxContent    int64          `help:"Largest content of a page, in bytes as sent, up to 8388608 (default ${default})." default:"1048576" env:"GALLEY_MAX_CONTENT" placeholder:"BYTES"`
	DrainDelay    time.Duration  `help:"How long to keep serving after SIGTERM while /readyz fails, so that load balancers notice (default ${default})." default:"1s" env:"GALLEY_DRAIN_DELAY" placeholder:"DURATION"`
	SiteRetention time.Duration  `help:"How long a deleted site can be restored; 0 is until the next hourly purge (default ${default})." default:"30d" env:"GALLEY_SITE_RETENTION" placeholder:"DURATION"`
	LogLevel      string         `help:"Lowest level to log: debug, info, warn or error (default ${default})." default:"info" enum:"debug,info,warn,error" env:"GALLEY_LOG_LEVEL" placeholder:"LEVEL"`

	WebhookAllowNetworks Networks `help:"Networks that webhooks may reach although they are not globally reachable: comma-separated addresses or networks (default none)." env:"GALLEY_WEBHOOK_ALLOW_NETWORKS" placeholder:"NETWORKS"`
	SecretKey            string   `help:"Key that encrypts the secrets of webhooks, 32 bytes in base64; the same on all nodes (default 'secret.key' in the --data folder, created at the first start)." env:"GALLEY_SECRET_KEY" placeholder:"KEY"`

	Edge

	BootstrapKey         string `help:"App key to create on the first start; 'galley keygen' prints one." env:"GALLEY_BOOTSTRAP_KEY" placeholder:"KEY"`
	BootstrapWorkspaceID string `help:"Id of the workspace to create on the first start." env:"GALLEY_BOOTSTRAP_WORKSPACE_ID" placeholder:"ID"`
}

// Edge has the settings of the network.
type Edge struct {
	TrustedProxies Networks `help:"Proxies whose X-Forwarded-For header to trust: comma-separated addresses or networks (default none)." env:"GALLEY_TRUSTED_PROXIES" placeholder:"NETWORKS"`
	MaxConnections int      `help:"Maximum number of open connections (default ${default})." default:"16384" env:"GALLEY_MAX_CONNECTIONS" placeholder:"NUMBER"`
	MaxInFlight    int      `help:"Maximum number of requests handled at a time (default ${default})." default:"64" env:"GALLEY_MAX_IN_FLIGHT" placeholder:"NUMBER"`
	CORSOrigins    Origins  `help:"Comma-separated origins whose scripts may read with a Site key, or * for all (default none)." name:"cors-origins" env:"GALLEY_CORS_ORIGINS" placeholder:"ORIGINS"`

	TLSCert       string `help:"Serve HTTPS with the certificate in this PEM file, which is reloaded when it changes." name:"tls-cert" env:"GALLEY_TLS_CERT" placeholder:"FILE"`
	TLSKey        string `help:"PEM file with the private key of the certificate." name:"tls-key" env:"GALLEY_TLS_KEY" placeholder:"FILE"`
	ACMEDomains   Names  `help:"Serve HTTPS with ACME certificates for these comma-separated host names; port 443 must lead to the server." name:"acme-domains" env:"GALLEY_ACME_DOMAINS" placeholder:"NAMES"`
	ACMEEmail     string `help:"Contact email address for the ACME certificate authority." name:"acme-email" env:"GALLEY_ACME_EMAIL" placeholder:"ADDRESS"`
	ACMEDirectory string `help:"Directory URL of the ACME certificate authority (default Let's Encrypt)." name:"acme-directory" env:"GALLEY_ACME_DIRECTORY" placeholder:"URL"`
	ACMECache     string `help:"Folder in which to keep ACME certificates (default 'acme' in the --data folder)." name:"acme-cache" env:"GALLEY_ACME_CACHE" placeholder:"DIR"`
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
	// Some editors write a byte order mark.
	documents := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	if err := documents.Decode(&f.values); err != nil && !errors.Is(err, io.EOF) { // an empty one sets nothing
		return nil, fmt.Errorf("the configuration file %s is not YAML: %s", name, yaml.FormatError(err, false, false))
	}
	if err := documents.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the configuration file %s has more than one YAML document: remove what follows the line ---", name)
	}
	return f, nil
}

// Validate refuses settings that no command has, such as misspelled ones.
func (f *File) Validate(app *kong.Application) error {
	var unknown []string
	for name := range f.values {
		known := slices.ContainsFunc(flags(app.Node), func(flag *kong.Flag) bool { return flag.Name == name })
		if !known || name == "config" || name == "help" {
			unknown = append(unknown, name)
		}
	}
	return refuse("the configuration file "+f.name+" has unknown settings: ", unknown)
}

// refuse returns an error that lists unknown names, or nil if there are none.
func refuse(message string, unknown []string) error {
	if unknown == nil {
		return nil
	}
	slices.Sort(unknown)
	return errors.New(message + strings.Join(unknown, ", "))
}

// flags returns the flags of a command and its subcommands.
func flags(n *kong.Node) []*kong.Flag {
	all := slices.Clone(n.Flags)
	for _, child := range n.Children {
		all = append(all, flags(child)...)
	}
	return all
}

// Resolve returns the value of a flag from the file, unless its variable is set.
func (f *File) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	value, ok := f.values[flag.Name]
	hasVariable := slices.ContainsFunc(flag.Envs, func(name string) bool { return os.Getenv(name) != "" })
	if !ok || hasVariable {
		return nil, nil //nolint:nilnil // tells kong that the file has no value for it
	}
	switch value.(type) {
	case []any, map[string]any, nil:
		return nil, errors.New("must be a plain value in the configuration file")
	}
	return fmt.Sprint(value), nil
}

// ForgetEmptyVariables unsets empty variables: service managers and containers
// often set a name without a value.
func ForgetEmptyVariables() {
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" && strings.HasPrefix(name, prefix) {
			_ = os.Unsetenv(name) // fails only for invalid names
		}
	}
}

// prefix starts the names of all variables.
const prefix = "GALLEY_"

// serviceLink matches the variables that Kubernetes sets for a service whose name
// begins with galley.
var serviceLink = regexp.MustCompile(`^GALLEY(_\w+)?_(SERVICE_(HOST|PORT(_\w+)?)=|PORT(_\d+_[A-Z]+)?=[a-z]+://|PORT_\d+_[A-Z]+_(PROTO|PORT|ADDR)=)`)

// CheckVariables refuses variables that start with GALLEY_ and are not settings.
// The error suggests the setting with the most similar name.
func CheckVariables(app *kong.Application, environ []string) error {
	var known, unknown []string
	for _, flag := range flags(app.Node) {
		known = append(known, flag.Envs...)
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, prefix) && !slices.Contains(known, name) && !serviceLink.MatchString(entry) {
			similar := slices.MinFunc(known, func(a, b string) int { return editDistance(name, a) - editDistance(name, b) })
			unknown = append(unknown, fmt.Sprintf("%s (did you mean %s?)", name, similar))
		}
	}
	return refuse("unknown variables: ", unknown)
}

// editDistance is the Levenshtein distance.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
