package cli

import (
	"bufio"
	"io"
	"sync"
	"time"
)

// logFlush is how long a line of the log may wait to be written. A system call
// for each line would cost a request more than the line itself.
const logFlush = 100 * time.Millisecond

// logBuffer gathers lines and writes them together, soon.
type logBuffer struct {
	mu      sync.Mutex
	out     *bufio.Writer
	waiting bool
}

func newLogBuffer(out io.Writer) *logBuffer {
	return &logBuffer{out: bufio.NewWriterSize(out, 64<<10)}
}

func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.waiting {
		b.waiting = true
		time.AfterFunc(logFlush, b.Flush)
	}
	return b.out.Write(line)
}

// Flush writes what has been gathered.
func (b *logBuffer) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = false
	_ = b.out.Flush() // a log that can't be written has nobody to tell
}
