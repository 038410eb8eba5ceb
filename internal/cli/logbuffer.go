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
	to      io.Writer
	out     *bufio.Writer
	waiting bool
}

func newLogBuffer(to io.Writer) *logBuffer {
	return &logBuffer{to: to, out: bufio.NewWriterSize(to, 64<<10)}
}

func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.waiting {
		b.waiting = true
		time.AfterFunc(logFlush, b.Flush)
	}
	n, err := b.out.Write(line)
	if err != nil {
		b.goOn()
	}
	return n, err
}

// Flush writes what has been gathered.
func (b *logBuffer) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = false
	if b.out.Flush() != nil { // a log that can't be written has nobody to tell
		b.goOn()
	}
}

// goOn gives up what could not be written: its disk may have room again for what
// comes later. An empty line ends what may have been cut off.
func (b *logBuffer) goOn() {
	b.out.Reset(b.to)
	_ = b.out.WriteByte('\n') // nothing is written yet
}
