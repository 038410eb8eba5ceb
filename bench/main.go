// Command bench measures Galley, a peer and the bare limit side by side, in one
// run on one machine, and holds the ratios against the targets.
//
//	bench [--quick] [--rounds N] [--growth [--growth-max N]] [--big] [--profile] [--force] [--report DIR]
//
// It runs in the root of the repository and writes docs/benchmarks.md; see
// 'make bench'.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// bench is one run.
type bench struct {
	quick, force bool
	growth       bool
	bigOnly      bool
	profiles     bool
	maxPages     int // of growth
	rounds       int
	lengths      lengths
	galley       string // the programs
	pocketbase   string
	folder       string    // temporary files of the run
	report       string    // the folder of the report; "": none is written
	postgres     *postgres // nil in a quick run
	contestants  []contestant
	terminal     bool
}

func main() {
	if err := recovered(run); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() {
	if len(os.Args) == 4 && os.Args[1] == "serve-bare" {
		serveBare(os.Args[2], os.Args[3])
	}
	b := &bench{lengths: lengths{time.Second, 4 * time.Second}}
	flag.BoolVar(&b.quick, "quick", false, "measure a few operations on SQLite alone, once, and keep nothing")
	flag.BoolVar(&b.growth, "growth", false, "measure how costs grow with pages and locales, and nothing else")
	flag.BoolVar(&b.bigOnly, "big", false, "measure big work and nothing else")
	flag.IntVar(&b.maxPages, "growth-max", maxGrownPages, fmt.Sprintf("the most pages to grow to, at least %d", basePages))
	flag.BoolVar(&b.profiles, "profile", false, "also print where Galley's time goes")
	flag.BoolVar(&b.force, "force", false, "measure on a busy machine too, and keep nothing")
	flag.IntVar(&b.rounds, "rounds", 3, "how often everything is measured; the median counts")
	flag.StringVar(&b.galley, "galley", "bin/galley", "the program to measure")
	flag.StringVar(&b.pocketbase, "pocketbase", "bin/bench-pocketbase", "the peer")
	flag.StringVar(&b.report, "report", "", "the folder to write the report to (default "+docsFolder+", or nowhere with --quick or --force)")
	parent := flag.String("dir", os.TempDir(), "folder for the databases of the run; must be on a disk")
	flag.Parse()
	if b.quick {
		b.rounds = 1
	}
	if b.quick || b.growth { // growth measures everything three times
		b.lengths = lengths{500 * time.Millisecond, 1500 * time.Millisecond}
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	b.runIn(ctx, *parent)
}

// failure is what check panics with.
type failure struct{ error }

// check fails the function that recovered runs, if there is an error. Another
// goroutine needs its own call of recovered.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns a value, or fails like check.
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

// runIn runs everything in a new folder, which is removed afterwards.
func (b *bench) runIn(ctx context.Context, parent string) {
	if b.maxPages < basePages {
		check(fmt.Errorf("--growth-max must be at least %d, which everything is compared with", basePages))
	}
	b.report = reportFolder(b.report, b.force || b.quick)
	if info, err := os.Stdout.Stat(); err == nil {
		b.terminal = info.Mode()&os.ModeCharDevice != 0
	}
	b.folder = must(os.MkdirTemp(parent, "galley-bench"))
	defer func() { check(os.RemoveAll(b.folder)) }()
	check(os.Chmod(b.folder, 0o711)) // PostgreSQL runs as another user
	// A durable write costs nothing in memory.
	const tmpfs = 0x01021994
	var disk syscall.Statfs_t
	check(syscall.Statfs(b.folder, &disk))
	if disk.Type == tmpfs && !b.force {
		check(fmt.Errorf("%s is in memory: name a folder on a disk with --dir", b.folder))
	}
	if !b.quick {
		b.postgres = startPostgres(ctx, b.folder+"/postgres")
		defer b.postgres.server.stop(syscall.SIGINT)
	}
	o := b.newOrigin(ctx)
	if b.growth {
		b.keep(report{Growth: b.measureGrowth(ctx, o)})
		return
	}
	if !b.bigOnly {
		// It is saved at once, since it took half an hour.
		b.keep(report{Comparison: b.compare(ctx, o)})
	}
	b.keep(report{Big: b.measureBig(ctx, o)})
}

// keep prints what was found, and writes the report together with what earlier
// runs have found.
func (b *bench) keep(found report) {
	for _, s := range summarize(found.verdicts()) {
		b.line("%s", s)
	}
	if b.report == "" {
		return
	}
	all := readReport(b.report)
	all.Comparison = cmp.Or(found.Comparison, all.Comparison)
	all.Big = cmp.Or(found.Big, all.Big)
	all.Growth = cmp.Or(found.Growth, all.Growth)
	all.write(b.report)
	b.line("wrote %s/%s.md", b.report, reportName)
}

// progressEvery is how often progress is printed if there is no terminal.
const progressEvery = 15 * time.Second

// progress returns a function that shows how far a load has come. It is called
// with every part that is done, by any goroutine.
func (b *bench) progress(what string, done, total int) func(pages int) {
	var mu sync.Mutex
	start, from, shown := time.Now(), done, time.Now()
	return func(pages int) {
		mu.Lock()
		defer mu.Unlock()
		done += pages
		text := progressText(done, total, float64(done-from)/time.Since(start).Seconds())
		if b.terminal {
			b.status("%s: %s", what, text)
		} else if time.Since(shown) >= progressEvery {
			shown = time.Now()
			b.line("%s: %s", what, text)
		}
	}
}

// status shows what is being done, on a terminal.
func (b *bench) status(format string, args ...any) {
	if b.terminal {
		fmt.Printf("\r\033[K"+format, args...)
	}
}

// line prints a result.
func (b *bench) line(format string, args ...any) {
	b.status("")
	fmt.Printf(format+"\n", args...)
}
