package main_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"galley/internal/client"
)

var updateClient = flag.Bool("update-client", false, "write the golden output of the client's commands anew")

// shell runs commands of a client against a server, with a home of its own.
type shell struct {
	server   *process
	home     string
	env      []string
	terminal bool
	vars     map[string]string
}

func newShell(t *testing.T, server *process) *shell {
	t.Helper()
	home := t.TempDir()
	return &shell{
		server: server, home: home, vars: map[string]string{"URL": server.url, "KEY": server.key(t)},
		env: []string{"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "TZ=UTC", "TERM=xterm", "NO_COLOR="},
	}
}

// signedIn is newShell after a login.
func signedIn(t *testing.T, server *process) *shell {
	t.Helper()
	s := newShell(t, server)
	s.env = append(s.env, "GALLEY_URL="+server.url, "GALLEY_KEY="+s.vars["KEY"])
	return s
}

// file writes a file into the folder in which commands run.
func (s *shell) file(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.home, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var word = regexp.MustCompile(`"[^"]*"|\S+`)

// words splits a command line; $NAME stands for a variable.
func (s *shell) words(line string) []string {
	words := word.FindAllString(os.Expand(line, func(name string) string { return s.vars[name] }), -1)
	for i, w := range words {
		words[i] = strings.Trim(w, `"`)
	}
	return words
}

// piped runs a command whose streams are no terminals.
func (s *shell) piped(t *testing.T, input string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	p := prepare(t, s.env, binary, args...)
	p.cmd.Dir, p.cmd.Stdin = s.home, strings.NewReader(input)
	p.start(t)
	code = p.exitCode(t)
	return code, p.stdout.String(), p.stderr.String()
}

// typed runs a command on a terminal, and types the input when it asks. It returns what the
// terminal shows.
func (s *shell) typed(t *testing.T, input string, args ...string) (code int, shown string) {
	t.Helper()
	p := prepare(t, s.env, binary, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = s.home, nil, nil
	tty, err := pty.StartWithSize(p.cmd, &pty.Winsize{Rows: 40, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tty.Close() }()
	read := make(chan struct{})
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := tty.Read(buffer)
			_, _ = p.stdout.Write(buffer[:n])
			if err != nil { // the other side is closed
				close(read)
				return
			}
		}
	}()
	if input != "" {
		eventually(t, "the command asks", func() bool { return asks.MatchString(p.stdout.String()) })
		if _, err := tty.WriteString(input); err != nil {
			t.Fatal(err)
		}
	}
	_ = p.cmd.Wait()
	<-read
	return p.cmd.ProcessState.ExitCode(), screen(p.stdout.String())
}

var asks = regexp.MustCompile(`\[y/N\] $|Key for \S+: $`)

// screen is what stays on a terminal: carriage returns overwrite, and colors are marked.
func screen(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		var shown []rune
		for part := range strings.SplitSeq(line, "\r") {
			for i, r := range []rune(part) {
				if i < len(shown) {
					shown[i] = r
				} else {
					shown = append(shown, r)
				}
			}
		}
		lines = append(lines, strings.TrimRight(string(shown), " "))
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), "\x1b", "^")
}

// step is a command of the scenario.
type step struct {
	line  string
	input string            // for the standard input, or typed when the command asks
	until string            // what it prints after some time
	yes   bool              // the command asks: without a terminal it has to be told --yes
	save  map[string]string // variables to set from fields of the JSON output
}

// scenario uses every command that talks to a server.
var scenario = []step{
	{line: "login $URL --profile local", input: "$KEY\n"},
	{line: "profiles"},
	{line: "profiles list"},
	{line: "sites list"},
	{line: `sites create --name Shop --host-origin https://shop.example.com --labels eu,retail`},
	{line: "sites get shop --output json", save: map[string]string{"SITE": "id"}},
	{line: "sites get https://shop.example.com --output yaml"},
	{line: "sites update retail --site-key-access live --auto-redirects true"},
	{line: `sites duplicate Shop --name "A copy of a site whose name is longer than its column is wide"`},
	{line: "sites list"},
	{line: "sites list --output ids"},
	{line: "sites list --limit 1"},
	{line: "sites list --limit 1 --all"},
	{line: `sites delete "A copy of a site whose name is longer than its column is wide"`, input: "y\n", yes: true},
	{line: "sites list --deleted"},
	{line: `sites restore "A copy of a site whose name is longer than its column is wide"`},
	{line: `sites update "A copy of a site whose name is longer than its column is wide" --name Copy --clear host-origin`},
	{line: "sites delete Copy", input: "y\n", yes: true},
	{line: "sites rotate-key Shop --grace 1h", input: "y\n", yes: true},

	{line: "locales create --locale fr"},
	{line: "locales list"},
	{line: "locales get fr"},
	{line: "locales update fr --path-prefix france"},
	{line: "locales delete fr", input: "y\n", yes: true},
	{line: "locales list --deleted"},
	{line: "locales restore fr"},

	{line: `pages create --pathname /about --title "About us" --sitemap-priority 0.5`},
	{line: "pages create --pathname /blog/first --title First --output json", save: map[string]string{"PAGE": "id"}},
	{line: "pages update /about --locale fr --pathname /a-propos --title \"À propos\""},
	{line: "pages get /a-propos --locale fr --site shop"},
	{line: "pages list --site eu"},
	{line: "pages list --search first --output ids"},
	{line: "pages tree"},
	{line: "pages delete /blog/first", input: "y\n", yes: true},
	{line: "pages list --deleted"},
	{line: "pages restore $PAGE"},
	{line: "pages content set /about content.json"},
	{line: "pages content get /about"},
	{line: "pages content diff /about"},
	{line: "pages content get /about --output yaml"},
	{line: "pages content delete /about --locale fr", input: "y\n", yes: true},
	{line: "pages import pages.csv"},
	{line: "pages import pages.csv --update"},

	{line: "routes create --pathname /cart"},
	{line: "routes list"},
	{line: "routes get /cart"},
	{line: "routes update /cart --pathname /basket"},
	{line: "routes delete /basket", input: "y\n", yes: true},

	{line: "redirects create --source /old --target /about --status 301 --output json", save: map[string]string{"REDIRECT": "id"}},
	{line: "redirects list"},
	{line: "redirects get $REDIRECT"},
	{line: "redirects update $REDIRECT --target /blog/first"},
	{line: "redirects delete $REDIRECT", input: "y\n", yes: true},
	{line: "redirects restore $REDIRECT"},
	{line: "redirects import redirects.csv"},

	{line: "changes Shop"},
	{line: "changes Shop --page /about"},
	{line: "changes Shop --output json", save: map[string]string{"PLAN": "plan"}},
	{line: "publish Shop --plan $PLAN"},
	{line: "publish Shop --yes"},
	{line: `pages update /about --title "About you" --clear sitemap-priority`},
	{line: "pages update /blog/first --pathname /blog/one"},
	{line: "redirects update $REDIRECT --target /about"},
	{line: "redirects discard $REDIRECT", input: "y\n", yes: true},
	{line: "publish Shop --plan $PLAN"},
	{line: `publish Shop --page /about --name "Only one"`, input: "y\n", yes: true},
	{line: "publish Shop --output json", input: "y\n", yes: true, save: map[string]string{"PUBLISH": "id"}},
	{line: "publish Shop --at 2100-01-31T12:00:00Z", input: "y\n", yes: true},
	{line: "publishes list"},
	{line: "publishes list --scheduled --output json", save: map[string]string{"SCHEDULED": "data.0.id"}},
	{line: "publishes get $PUBLISH"},
	{line: "publishes changes $PUBLISH"},
	{line: "publishes urls $PUBLISH"},
	{line: "publishes cancel $SCHEDULED", input: "y\n", yes: true},
	{line: "pages update /blog/one --is-online false"},
	{line: "pages publish /blog/one", input: "y\n", yes: true},
	{line: "pages publishes /blog/one"},
	{line: "publishes restore $PUBLISH", input: "y\n", yes: true},
	{line: "pages update /blog/one --title Changed"},
	{line: "pages discard /blog/one", input: "y\n", yes: true},
	{line: "pages delocalize /about fr", input: "y\n", yes: true},
	{line: "sites discard Shop --page /about", input: "y\n", yes: true},
	{line: "sites summary Shop"},
	{line: "sites sitemap Shop"},
	{line: "sites robots Shop"},
	{line: "resolve https://shop.example.com/france/a-propos"},
	{line: "resolve /old --site Shop"},
	{line: "resolve https://shop.example.com/nowhere"},

	{line: "previews create --name Review --path-prefix /blog --expires 12h --output json", save: map[string]string{"PREVIEW": "id"}},
	{line: "previews list"},
	{line: "previews get $PREVIEW"},
	{line: "previews delete $PREVIEW", input: "y\n", yes: true},

	{line: "keys create --name CI --scopes read,write --sites Shop --expires-at 2100-01-31"},
	{line: "keys create --name Reader --scopes read --output json", save: map[string]string{"APP": "id"}},
	{line: "keys list --limit 1 --output ids", save: map[string]string{"FIRST": ""}},
	{line: "keys list --after $FIRST"}, // the first one has been used, some time later
	{line: "keys get $APP"},
	{line: `keys update $APP --description "Reads the site" --scopes read,publish`},
	{line: "keys rotate $APP", input: "y\n", yes: true},
	{line: "keys delete $APP", input: "y\n", yes: true},

	{line: "webhooks create --url http://127.0.0.1:9/hook --types page.updated --sites Shop --output json", save: map[string]string{"WEBHOOK": "id"}},
	{line: "webhooks list"},
	{line: "webhooks get $WEBHOOK"},
	{line: `webhooks update $WEBHOOK --description "Nobody listens" --is-enabled true --clear types`},
	{line: "webhooks rotate-secret $WEBHOOK --grace 2d", input: "y\n", yes: true},
	{line: "webhooks test $WEBHOOK --output json", save: map[string]string{"DELIVERY": "id"}},
	{line: "webhooks deliveries $WEBHOOK", until: "failed"},
	{line: "webhooks delivery $DELIVERY"},
	{line: "webhooks redeliver $DELIVERY --output ids"},
	{line: "webhooks replay $WEBHOOK --since 2020-01-01"},
	{line: "webhooks delete $WEBHOOK", input: "y\n", yes: true},

	{line: "events --types site.created,site.deleted"},
	{line: "events list --site Shop --types publish.published --limit 1 --output yaml"},
	{line: "audit --limit 3"},
	{line: "audit list --site Shop --operation deleteRoute"},

	{line: "export Shop shop"},
	{line: "plan shop --site Shop"},
	{line: `pages update /blog/one --title "Edited elsewhere" --is-online true`},
	{line: "pages create --site Shop --pathname /blog/two --output ids"},
	{line: "plan shop --site Shop"},
	{line: "plan shop --site Shop --output json"},
	{line: "apply shop --site Shop", input: "n\n"},
	{line: "apply shop --site Shop --publish", input: "y\n", yes: true},
	{line: "apply shop --site Shop --publish --output json"},
	{line: "export Shop shop --output yaml"},

	{line: "sites delete Shop", input: "n\n"},
	{line: "completion bash"},
	{line: "completion zsh"},
	{line: "completion fish"},
	{line: `complete -- pages list --o`},
	{line: "profiles use local"},
	{line: "logout"},
	{line: "profiles"},
	{line: "sites list"},
}

// files are read by commands of the scenario.
var files = map[string]string{
	"content.json":  `{"blocks":[{"type":"text","value":"a < b"}]}`,
	"pages.csv":     "pathname,title,isOnline,locale,content\n/team,The team,true,,\n/about,Taken,,,\n/team,L’équipe,,fr,\n/jobs,Jobs,perhaps,,\n/x//y,Bad,,,\n/legal,\"Legal, and more\",false,,\"{\"\"a\"\":1}\"\n",
	"redirects.csv": "source,target,status\n/a,/about,\n/b,/about,302\n/old,/about,\n/c,/about,200\n/d\n",
}

func TestEveryClientCommandOnATerminalAndPiped(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"terminal", "piped"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newShell(t, serve(t, nil))
			s.terminal = kind == "terminal"
			for name, text := range files {
				s.file(t, name, text)
			}
			normal := newNormalizer(s)
			var got strings.Builder
			for _, step := range scenario {
				shown := s.run(t, step)
				eventually(t, "galley "+step.line+" prints "+step.until, func() bool {
					if !strings.Contains(shown, step.until) {
						shown = s.run(t, step)
					}
					return strings.Contains(shown, step.until)
				})
				fmt.Fprintf(&got, "$ galley %s\n%s\n", step.line, normal.text(shown))
			}
			golden(t, "testdata/client/"+kind+".golden", got.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *updateClient {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// run runs a step and returns its output and exit code.
func (s *shell) run(t *testing.T, step step) string {
	t.Helper()
	args, input := s.words(step.line), os.Expand(step.input, func(name string) string { return s.vars[name] })
	var code int
	var shown, stdout string
	if s.terminal {
		code, shown = s.typed(t, input, args...)
		stdout = shown
	} else {
		if step.yes {
			args = append(args, "--yes")
		}
		var stderr string
		code, stdout, stderr = s.piped(t, input, args...)
		shown = stdout
		if stderr != "" {
			shown += "stderr: " + strings.ReplaceAll(strings.TrimSuffix(stderr, "\n"), "\n", "\nstderr: ") + "\n"
		}
	}
	for name, path := range step.save {
		s.vars[name] = jsonField(t, stdout, path)
	}
	if code != 0 {
		shown += fmt.Sprintf("[exit code %d]\n", code)
	}
	return shown
}

// jsonField returns a string of the JSON in an output, by a path such as data.0.id; no path
// is its first line.
func jsonField(t *testing.T, output, path string) string {
	t.Helper()
	if path == "" {
		return strings.TrimSpace(strings.SplitN(output, "\n", 2)[0])
	}
	var value any
	_, object, _ := strings.Cut(output, "{") // a question may come before it
	if err := json.Unmarshal([]byte("{"+object), &value); err != nil {
		t.Fatalf("%v in %s", err, output)
	}
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			value = v[0]
		}
	}
	text, ok := value.(string)
	if !ok {
		t.Fatalf("no %s in %s", path, output)
	}
	return text
}

// normalizer replaces what differs from run to run.
type normalizer struct {
	names names
	fixed *strings.Replacer
	hints []string
}

func newNormalizer(s *shell) *normalizer {
	return &normalizer{names: newNames(), fixed: strings.NewReplacer(s.server.url, "http://127.0.0.1:8080", s.server.address(), "127.0.0.1:8080"),
		hints: []string{s.vars["KEY"][len(s.vars["KEY"])-4:]}}
}

var (
	anyKey       = regexp.MustCompile(`sk_\w+`)
	anySecret    = regexp.MustCompile(`whsec_[\w+/=]+`)
	anyDuration  = regexp.MustCompile(`(durationMs"?: ?)\d+`)
	anyToken     = regexp.MustCompile(`pv_\w+`)
	anyLocalTime = regexp.MustCompile(`20[23]\d-\d\d-\d\d \d\d:\d\d(:\d\d)?`)
	anyShortTime = regexp.MustCompile(`20[23]\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
)

func (n *normalizer) text(text string) string {
	for _, key := range anyKey.FindAllString(text, -1) {
		n.hints = append(n.hints, key[len(key)-4:])
	}
	text = n.fixed.Replace(text)
	text = anyID.ReplaceAllStringFunc(text, func(id string) string { return named(n.names.ids, id, "01980a5c-7d3e-7f00-8a3b-%012d") })
	text = anyPlan.ReplaceAllStringFunc(text, func(plan string) string { return named(n.names.plans, plan, "9f86d081884c7d659a2feaa0c55ad015%032d") })
	text = anyKey.ReplaceAllString(text, "sk_KEY")
	text = anySecret.ReplaceAllString(text, "whsec_SECRET")
	text = anyDuration.ReplaceAllString(text, "${1}1")
	text = anyToken.ReplaceAllString(text, "pv_TOKEN")
	for _, hint := range n.hints {
		text = regexp.MustCompile(`\b`+hint+`\b`).ReplaceAllString(text, "HINT")
	}
	text = anyShortTime.ReplaceAllString(text, "2030-01-31T12:00:00.000Z")
	return anyLocalTime.ReplaceAllStringFunc(text, func(moment string) string { return "2030-01-31 12:00:00"[:len(moment)] })
}

func TestTheScenarioHasEveryClientCommand(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&client.Commands{}, client.FieldTypes)
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(false) {
		path := leaf.Path()
		if !slices.ContainsFunc(scenario, func(s step) bool { return strings.HasPrefix(s.line+" ", path+" ") }) {
			t.Errorf("galley %s is not in the scenario", path)
		}
		if !leaf.Hidden && !strings.Contains(client.Examples[path], "galley "+strings.TrimSuffix(path, " list")) {
			t.Errorf("galley %s has no example", path)
		}
	}
}
