package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const tracedID = "01a1ddd6-c2fb-7483-b0b9-c82f5169f983"

// A transaction of two frames, its sync, and its answer, as strace shows them.
const (
	frame      = `7 pwrite64(9</d/galley.db-wal>, "\0\0\0\1\0\0\0\0\256\214%\240\276\17\243q\35\1\2\3\4\5\6\7", 24, 32) = 24`
	framed     = `7 pwrite64(9</d/galley.db-wal>, "\r\0$` + tracedID + `updatePage"..., 4096, 56) = 4096`
	lastFrame  = `7 pwrite64(9</d/galley.db-wal>, "\0\0\0\2\0\0\0\3\256\214%\240\276\17\243q\35\1\2\3\4\5\6\7", 24, 4152) = 24`
	lastFramed = `7 pwrite64(9</d/galley.db-wal>, "\r\0\0"..., 4096, 4176) = 4096`
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
			if err := os.WriteFile(file, []byte(strings.Join(test.lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			tr, err := readTrace(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := tr.synced(tracedID); (err == nil) != test.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
