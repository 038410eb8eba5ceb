// Command torture breaks a running Galley on purpose and checks that it kept its
// promises. Each run starts the real program, kills, floods or starves it, and
// prints one JSON line. Acknowledged writes are recorded here, outside the
// program, and read back over REST.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"
)

// run is one kind of fault.
type run struct {
	name   string
	target string // what must hold
	short  string // what must hold in the short form; "": the same
	// limit bounds the time of the full form; shortLimit of the short one, 0
	// for runs that have none.
	limit, shortLimit time.Duration
	// lacking returns what the run needs and this machine lacks; nil: nothing.
	lacking func() string
	do      func(*trial)
}

// runs is the whole list, in the order in which they run.
var runs = []run{
	slowConnectionsRun,
	overloadRun,
	overloadPostgresRun,
	noisyNeighbourRun,
	killSQLiteRun,
	powerCutSQLiteRun,
	killNodeRun,
	killPostgresRun,
	webhooksSQLiteRun,
	webhooksNodesRun,
	standbyPromotedRun,
	diskFullRun,
	backupRun,
	rollingRestartRun,
	migrationRun,
	levelRun,
}

func main() {
	list := flag.Bool("list", false, "print the names of the runs and end")
	short := flag.Bool("short", false, "run the short forms, under three minutes in all")
	seed := flag.Uint64("seed", 0, "repeat a run's choices (default: chosen for each run)")
	keep := flag.Bool("keep", false, "keep the data folders and logs")
	flag.Usage = func() {
		say(flag.CommandLine.Output(), "Usage: go run ./torture [flags] [run...]\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	code := 0
	err := recovered(func() {
		if *list {
			printList()
		} else {
			code = torture(choose(flag.Args(), *short), *short, *keep, *seed)
		}
	})
	if err != nil {
		say(os.Stderr, "%v\n", err)
		code = 2
	}
	os.Exit(code)
}

// torture does the chosen runs and returns the exit status.
func torture(chosen []run, short, keep bool, seed uint64) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir := must(os.MkdirTemp("", "galley-torture"))
	check(os.Chmod(dir, 0o755)) // PostgreSQL runs as another user below this folder
	if keep {
		say(os.Stderr, "data and logs are kept in %s\n", dir)
	} else {
		defer func() { _ = os.RemoveAll(dir) }()
	}
	// The sources may have been unpacked without a repository around them.
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "galley"), "galley/cmd/galley")
	if out, err := build.CombinedOutput(); err != nil {
		check(fmt.Errorf("go build: %w\n%s", err, out))
	}
	var results []result
	for _, r := range chosen {
		if ctx.Err() == nil {
			results = append(results, try(ctx, r, dir, short, seed))
		}
	}
	return summary(results, len(chosen))
}

// choose finds runs by their names; without names, all that can run here.
func choose(names []string, short bool) (chosen []run) {
	for _, name := range names {
		i := slices.IndexFunc(runs, func(r run) bool { return r.name == name })
		if i < 0 {
			check(fmt.Errorf("there is no run %s: 'go run ./torture --list' prints them", name))
		}
		if short && runs[i].shortLimit == 0 {
			check(fmt.Errorf("%s has no short form", name))
		}
		chosen = append(chosen, runs[i])
	}
	if len(names) > 0 {
		return chosen
	}
	for _, r := range runs {
		switch {
		case short && r.shortLimit == 0:
		case short && r.lacking != nil && r.lacking() != "":
			say(os.Stderr, "%s is left out: it needs %s\n", r.name, r.lacking())
		default:
			chosen = append(chosen, r)
		}
	}
	return chosen
}

// failure is what check panics with.
type failure struct{ error }

// check fails the run with an error, as testing.T.Fatal does. Only the
// goroutine of the run, or one of parallel, may call it.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns a value, or fails the run like check.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// recovered calls a function and returns the error that it failed with.
func recovered(do func()) (err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case failure:
			err = cause.error
		default:
			panic(cause)
		}
	}()
	do()
	return nil
}

// parallel calls a function with every number below n, each in a goroutine, and
// fails if one of them does.
func parallel(n int, do func(i int)) {
	errs := make([]error, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { errs[i] = recovered(func() { do(i) }) })
	}
	running.Wait()
	check(errors.Join(errs...))
}

// say prints for people.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...) // there is no other place to report to
}

func printList() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range runs {
		say(w, "%s\t%s\n", r.name, r.target)
	}
	_ = w.Flush() // a list that can't be printed is seen to be missing
}

// result is what a run prints.
type result struct {
	Run     string  `json:"run"`
	Target  string  `json:"target"`
	Got     figures `json:"got"`
	Pass    bool    `json:"pass"`
	Seconds float64 `json:"seconds"`
	Seed    uint64  `json:"seed"`
	why     string  // it failed
}

// try does one run, in a folder of its own, and prints its line.
func try(ctx context.Context, r run, dir string, short bool, seed uint64) result {
	if seed == 0 {
		seed = 1 + rand.Uint64N(1e9)
	}
	limit, target := r.limit, r.target
	if short {
		limit = r.shortLimit
		if r.short != "" {
			target = r.short
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the run took longer than %s", limit))
	defer cancel()
	t := newTrial(ctx, r.name, filepath.Join(dir, r.name), filepath.Join(dir, "galley"), short, seed)
	start := time.Now()
	err := recovered(func() {
		t.prepare()
		r.do(t)
	})
	t.stopAll()
	t.progress.end()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		t.problem("%v", err)
	}
	res := result{
		Run: r.name, Target: target, Got: t.report(), Pass: len(t.problems) == 0,
		Seconds: float64(time.Since(start).Round(100*time.Millisecond)) / float64(time.Second), Seed: seed,
	}
	if !res.Pass {
		res.why = strings.TrimSpace(t.problems[0])
	}
	fmt.Println(string(must(json.Marshal(res))))
	return res
}

// summary prints the table, and returns the exit status.
func summary(results []result, wanted int) int {
	w := tabwriter.NewWriter(os.Stderr, 0, 0, 2, ' ', 0)
	code := 0
	if len(results) < wanted {
		code = 1
	}
	say(w, "\nrun\tresult\tseconds\twhy\n")
	for _, r := range results {
		word := "ok"
		if !r.Pass {
			word, code = "FAILED", 1
		}
		say(w, "%s\t%s\t%.1f\t%s\n", r.Run, word, r.Seconds, r.why)
	}
	_ = w.Flush() // the JSON lines have it all
	return code
}
