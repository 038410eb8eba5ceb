// Command bench measures Galley, a peer and the bare limit side by side, in one
// run on one machine, and holds the ratios against the targets.
//
//	bench [--quick] [--rounds N] [--growth [--growth-max N]] [--big] [--profile] [--force] [--report DIR]
//
// It runs in the root of the repository and writes docs/benchmarks.md; see
// 'make bench'.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
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
	folder       string    // for everything that the run keeps meanwhile
	report       string    // the folder of the report; "": none is written
	postgres     *postgres // none in a quick run
	contestants  []contestant
	terminal     bool
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == "serve-bare" {
		exit(serveBare(os.Args[2], os.Args[3]))
	}
	b := &bench{lengths: lengths{time.Second, 4 * time.Second}}
	flag.BoolVar(&b.quick, "quick", false, "measure a few operations on SQLite alone, once, and keep nothing")
	flag.BoolVar(&b.growth, "growth", false, "measure how costs grow with pages and locales, and nothing else")
	flag.BoolVar(&b.bigOnly, "big", false, "measure big work and nothing else")
	flag.IntVar(&b.maxPages, "growth-max", maxGrownPages, fmt.Sprintf("the most pages to grow to, at least %d", basePages))
	flag.BoolVar(&b.profiles, "profile", false, "also tell where Galley's time goes")
	flag.BoolVar(&b.force, "force", false, "measure on a busy machine too, and keep nothing")
	flag.IntVar(&b.rounds, "rounds", 3, "how often everything is measured; the median counts")
	flag.StringVar(&b.galley, "galley", "bin/galley", "the program to measure")
	flag.StringVar(&b.pocketbase, "pocketbase", "bin/bench-pocketbase", "the peer")
	flag.StringVar(&b.report, "report", "", "the folder to write the report to (default "+docsFolder+", or nowhere with --quick or --force)")
	parent := flag.String("dir", os.TempDir(), "where to keep the databases meanwhile; must be a disk")
	flag.Parse()
	if b.quick {
		b.rounds = 1
	}
	if b.quick || b.growth { // which takes three turns of each
		b.lengths = lengths{500 * time.Millisecond, 1500 * time.Millisecond}
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	exit(b.runIn(ctx, *parent))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runIn runs everything in a new folder, of which nothing is left afterwards.
func (b *bench) runIn(ctx context.Context, parent string) (err error) {
	if b.maxPages < basePages {
		return fmt.Errorf("--growth-max must be at least %d, which everything is compared with", basePages)
	}
	if b.report, err = reportFolder(b.report, b.force || b.quick); err != nil {
		return err
	}
	if info, err := os.Stdout.Stat(); err == nil {
		b.terminal = info.Mode()&os.ModeCharDevice != 0
	}
	if b.folder, err = os.MkdirTemp(parent, "galley-bench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.folder)) }()
	// PostgreSQL runs as another user and must get through.
	if err := os.Chmod(b.folder, 0o711); err != nil {
		return err
	}
	if err := refuseMemory(b.folder); err != nil && !b.force {
		return err
	}
	return b.run(ctx)
}

// refuseMemory fails for a folder that is no disk: a write to it proves
// nothing.
func refuseMemory(folder string) error {
	const tmpfs = 0x01021994
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err != nil {
		return err
	}
	if fs.Type == tmpfs {
		return fmt.Errorf("%s is in memory, where a durable write costs nothing: name a folder on a disk with --dir", folder)
	}
	return nil
}

// run measures what was asked for, and tells.
func (b *bench) run(ctx context.Context) (err error) {
	if !b.quick {
		if b.postgres, err = startPostgres(ctx, b.folder+"/postgres"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.postgres.stop()) }()
	}
	o, err := b.newOrigin(ctx)
	if err != nil {
		return err
	}
	if b.growth {
		grown, err := b.measureGrowth(ctx, b.maxPages)
		if err != nil {
			return err
		}
		grown.Origin = o
		return b.keep(&report{Growth: grown})
	}
	if !b.bigOnly {
		compared, err := b.compare(ctx, o)
		if err != nil {
			return err
		}
		// Whatever becomes of the rest, this was half an hour.
		if err := b.keep(&report{Comparison: compared}); err != nil {
			return err
		}
	}
	done, err := b.measureBig(ctx, o)
	if err != nil {
		return err
	}
	return b.keep(&report{Big: done})
}

// keep tells what was found, and writes the report with what earlier runs have
// found.
func (b *bench) keep(found *report) error {
	for _, s := range summarize(found.verdicts()) {
		b.line("%s", s)
	}
	if b.report == "" {
		return nil
	}
	all, err := readReport(b.report)
	if err != nil {
		return err
	}
	if found.Comparison != nil {
		all.Comparison = found.Comparison
	}
	if found.Big != nil {
		all.Big = found.Big
	}
	if found.Growth != nil {
		all.Growth = found.Growth
	}
	if err := all.write(b.report); err != nil {
		return err
	}
	b.line("wrote %s/%s.md", b.report, reportName)
	return nil
}
