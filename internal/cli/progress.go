package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"galley/internal/sqlstore"
)

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// bar shows how far something is, if somebody looks on.
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

// watched is a sink whose rows are counted.
type watched struct {
	sqlstore.Sink
	bar  *progressbar.ProgressBar
	rows int64
}

// barStep is how many rows a step of a bar is.
const barStep = 500

func (w *watched) Row(values []any) error {
	if w.rows++; w.rows%barStep == 0 {
		_ = w.bar.Add64(barStep) // only to be looked at
	}
	return w.Sink.Row(values)
}

// amount writes a number with commas.
func amount(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// volume writes a number of bytes.
func volume(n int64) string {
	const kilo, mega, giga = 1e3, 1e6, 1e9
	switch {
	case n < mega:
		return fmt.Sprintf("%.1f kB", float64(n)/kilo)
	case n < giga:
		return fmt.Sprintf("%.1f MB", float64(n)/mega)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/giga)
}

// seconds writes how long something took.
func seconds(took time.Duration) string { return fmt.Sprintf("%.1f s", took.Seconds()) }
