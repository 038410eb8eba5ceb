package cli

import (
	"bufio"
	"io"
	"log/slog"
	"sync"
	"time"

	"galley/internal/httpapi"
)

// newLog creates the server's log: text on a terminal, and otherwise buffered JSON
// lines. flush writes the buffered lines.
func newLog(out io.Writer, level string) (log *slog.Logger, flush func()) {
	var options slog.HandlerOptions
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err == nil {
		options.Level = least
	}
	if isTerminal(out) {
		options.ReplaceAttr = readableDuration
		return slog.New(slog.NewTextHandler(out, &options)), func() {}
	}
	buffer := newLogBuffer(out)
	return slog.New(slog.NewJSONHandler(buffer, &options)), buffer.Flush
}

// readableDuration writes the duration of a request as people read it: 1.24ms.
func readableDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Key != httpapi.DurationKey {
		return a
	}
	return slog.Duration("duration", time.Duration(a.Value.Float64()*float64(time.Millisecond)))
}

// logFlush is how long a line may stay in the buffer. A system call for each line
// would cost a request more than the line itself.
const logFlush = 100 * time.Millisecond

// logBuffer writes lines in batches.
type logBuffer struct {
	mu        sync.Mutex
	to        io.Writer
	out       *bufio.Writer
	scheduled bool // a flush
}

func newLogBuffer(to io.Writer) *logBuffer {
	return &logBuffer{to: to, out: bufio.NewWriterSize(to, 64<<10)}
}

func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.scheduled {
		b.scheduled = true
		time.AfterFunc(logFlush, b.Flush)
	}
	n, err := b.out.Write(line)
	b.recover(err)
	return n, err
}

// Flush writes the buffered lines.
func (b *logBuffer) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.scheduled = false
	b.recover(b.out.Flush())
}

// recover drops lines that could not be written, so that later ones can be. A
// newline ends a line that may have been written in part.
func (b *logBuffer) recover(err error) {
	if err != nil {
		b.out.Reset(b.to)
		_ = b.out.WriteByte('\n') // it is only buffered
	}
}
