package cli

import (
	"bufio"
	"io"
	"sync"
	"time"
)

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
