package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"galley/internal/sqlstore"
)

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// bar shows progress on a terminal.
func (t *terminal) bar(what, unit string, total int64) *progressbar.ProgressBar {
	if !isTerminal(t.err) {
		return progressbar.DefaultSilent(total)
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(t.err), progressbar.OptionSetDescription(what), progressbar.OptionSetItsString(unit),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100 * time.Millisecond), progressbar.OptionClearOnFinish(),
	}
	if unit == "B" {
		options = append(options, progressbar.OptionShowBytes(true))
	}
	return progressbar.NewOptions64(total, options...)
}

// watched is a sink that counts rows, shows progress and keeps its last error.
type watched struct {
	sqlstore.Sink
	bar  *progressbar.ProgressBar
	rows int64
	err  error
}

// barStep is the number of rows between updates of a progress bar.
const barStep = 500

// dump sends a snapshot to the sink and shows the progress.
func (w *watched) dump(t *terminal, what string, s *sqlstore.Snapshot) (err error) {
	total := int64(-1)
	if isTerminal(t.err) { // counting takes a while
		if total, err = s.Count(t.ctx); err != nil {
			return err
		}
	}
	w.bar = t.bar(what, "rows", total)
	err = s.Dump(t.ctx, w)
	_ = w.bar.Finish() // errors of the progress bar do not matter
	return err
}

// Table forwards to the sink.
func (w *watched) Table(name string, columns []string) error {
	w.err = w.Sink.Table(name, columns)
	return w.err
}

// Row forwards to the sink and counts.
func (w *watched) Row(values []any) error {
	if w.rows++; w.rows%barStep == 0 {
		_ = w.bar.Add64(barStep) // errors of the progress bar do not matter
	}
	w.err = w.Sink.Row(values)
	return w.err
}

// volume writes a number of bytes with its unit.
func volume(n int64) string {
	units, size := []string{"B", "kB", "MB", "GB", "TB"}, float64(n)
	for size >= 999.95 && len(units) > 1 {
		units, size = units[1:], size/1000
	}
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
}

// seconds writes a duration.
func seconds(took time.Duration) string { return fmt.Sprintf("%.1f s", took.Seconds()) }
