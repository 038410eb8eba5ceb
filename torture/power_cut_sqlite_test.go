package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const tracedID = "01a1ddd6-c2fb-7483-b0b9-c82f5169f983"

// A transaction of two frames, its sync, and its response, as strace shows them.
const (
	frame      = `7 pwrite64(9</d/galley.db-wal>, "\x00\x00\x00\x01\x00\x00\x00\x00` + checksums + `", 24, 32) = 24`
	framed     = `7 pwrite64(9</d/galley.db-wal>, "\x0d\x00\x01\xa1\xdd\xd6\xc2\xfb\x74\x83\xb0\xb9\xc8\x2f\x51\x69\xf9\x83\x75", 4096, 56) = 4096`
	lastFrame  = `7 pwrite64(9</d/galley.db-wal>, "\x00\x00\x00\x02\x00\x00\x00\x03` + checksums + `", 24, 4152) = 24`
	lastFramed = `7 pwrite64(9</d/galley.db-wal>, "\x0d\x00\x00", 4096, 4176) = 4096`
	checksums  = `\xae\x8c\x25\xa0\xbe\x0f\xa3\x71\x1d\x01\x02\x03\x04\x05\x06\x07`
	fsync      = `7 fsync(9</d/galley.db-wal>)     = 0`
	answered   = `7 write(12<socket:[9]>, "HTTP/1.1 200 OK\r\nX-Request-Id: ` + tracedID + `\r\n\r\n", 99) = 99`
)

func TestTraceTellsWhatWasSyncedBeforeItsAnswer(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		ok    bool
	}{
		{"synced", []string{frame, framed, lastFrame, lastFramed, fsync, answered}, true},
		{"never synced", []string{frame, framed, lastFrame, lastFramed, answered}, false},
		{"synced too late", []string{frame, framed, lastFrame, lastFramed, answered, fsync}, false},
		{"synced before its commit", []string{frame, framed, fsync, lastFrame, lastFramed, answered}, false},
		{"another file synced", []string{frame, framed, lastFrame, lastFramed, strings.ReplaceAll(fsync, "-wal", ""), answered}, false},
		{"a sync that failed", []string{frame, framed, lastFrame, lastFramed, strings.ReplaceAll(fsync, "= 0", "= -1 EIO (Input/output error)"), answered}, false},
		{"never committed", []string{frame, framed, frame, lastFramed, fsync, answered}, false},
		{"never written", []string{frame, lastFramed, lastFrame, lastFramed, fsync, answered}, false},
		{"never answered", []string{frame, framed, lastFrame, lastFramed, fsync}, false},
		{"a long sync", []string{
			frame, framed, lastFrame, lastFramed, "7 fsync(9</d/galley.db-wal> <unfinished ...>",
			`8 write(3</d/log>, "x", 1) = 1`, "7 <... fsync resumed>) = 0", answered,
		}, true},
		{"answered during the sync", []string{
			frame, framed, lastFrame, lastFramed, "8 fsync(9</d/galley.db-wal> <unfinished ...>", answered, "8 <... fsync resumed>) = 0",
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "trace")
			check(os.WriteFile(file, []byte(strings.Join(test.lines, "\n")+"\n"), 0o600))
			if err := must(readTrace(file)).synced(tracedID); (err == nil) != test.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
