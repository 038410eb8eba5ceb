package cli

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// fullDisk has room for so many bytes.
type fullDisk struct {
	bytes.Buffer
	room int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), d.room-d.Len())
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func TestLogGoesOnWhenItsDiskHasRoomAgain(t *testing.T) {
	disk := fullDisk{room: 1000}
	log := newLogBuffer(&disk)
	for n := range 100_000 { // more than is gathered at a time
		_, _ = fmt.Fprintf(log, "lost %d\n", n)
	}
	log.Flush()
	disk.room = 1 << 20
	for n := range 3 {
		_, _ = fmt.Fprintf(log, "kept %d\n", n)
	}
	log.Flush()
	if got := disk.String(); !strings.HasSuffix(got, "\nkept 0\nkept 1\nkept 2\n") {
		t.Errorf("the log ends with %q", got[max(0, len(got)-100):])
	}
}
