package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	// A name may hold blanks and parentheses.
	p, err := parseStat([]byte("4242 (a) b (c)) S 7 4242 4242 0 -1 4194560 1 2 3 4 150 50 20 5 20 0 9 0 100 1 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (process{4242, 7, "a) b (c)", 2250 * time.Millisecond}); p != want {
		t.Errorf("got %+v, want %+v", p, want)
	}
	for _, text := range []string{"", "1 (init", "1 (init) S 0 1", "x (init) S 0 1 1 0 -1 1 1 2 3 4 1 1 1 1 20"} {
		if p, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, p)
		}
	}
}

func TestWithin(t *testing.T) {
	table := map[int]process{
		1: {pid: 1, cpu: 1}, 10: {pid: 10, parent: 1, cpu: 10}, 11: {pid: 11, parent: 10, cpu: 100},
		12: {pid: 12, parent: 11, cpu: 1000}, 20: {pid: 20, parent: 1, cpu: 10000},
		30: {pid: 30, parent: 99, cpu: 100000}, // its parent is hidden
	}
	if got := total(within(table, []int{10})); got != 1110 {
		t.Errorf("got %d", got)
	}
	if got := total(within(table, []int{11, 20})); got != 11100 {
		t.Errorf("got %d", got)
	}
	if got := within(table, nil); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// TestSpanCharges looks whether work is charged to who does it: a process below
// ours that is measured, or one that is foreign.
func TestSpanCharges(t *testing.T) {
	worker := exec.Command("sh", "-c", "while :; do :; done")
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = worker.Process.Kill(), worker.Wait() }()
	pids := []int{worker.Process.Pid}
	s, err := spanOf(func() error { return nil })
	var alone, share float64
	var busiest process
	// The kernel counts what the machine does by samples: on a busy one, it takes a while.
	for end := time.Now().Add(time.Minute); err == nil && time.Now().Before(end) && (share <= alone || busiest.cpu == 0); {
		time.Sleep(5 * tick)
		s.to, err = takeReading()
		alone, _ = s.foreign(pids)
		share, busiest = s.foreign(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if share <= alone || busiest.cpu == 0 {
		t.Errorf("%.2f of the machine went elsewhere with the worker and %.2f without, most to %+v", share, alone, busiest)
	}
}

func TestStolenTimeIsApart(t *testing.T) {
	used, stolen, err := parseBusy("cpu  100 20 3 4000 50 6 7 80 0 0")
	if err != nil || used != 123*tick || stolen != 80*tick {
		t.Errorf("%v were used and %v stolen, %v", used, stolen, err)
	}
	if _, _, err := parseBusy("cpu  100 20 3"); err == nil {
		t.Error("half a line is read")
	}
	second := func(stolen time.Duration) error {
		s := span{from: reading{at: time.Unix(1, 0)}, to: reading{at: time.Unix(2, 0), stolen: stolen * time.Duration(runtime.NumCPU())}}
		return s.disturbance(nil)
	}
	if err := second(time.Second / 5); err != nil {
		t.Errorf("a fifth was stolen: %v", err)
	}
	if err := second(time.Second / 2); err == nil || !strings.Contains(err.Error(), "50 %") {
		t.Errorf("half was stolen: %v", err)
	}
}

func TestResidentOf(t *testing.T) {
	n, err := residentOf(os.Getpid())
	if err != nil || n < 1<<20 || n > 1<<34 {
		t.Errorf("this process has %d bytes, %v", n, err)
	}
	if n, err := residentOf(1 << 30); err == nil {
		t.Errorf("a process that is none has %d bytes", n)
	}
}

func TestInfoOf(t *testing.T) {
	cpuinfo := []byte("processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some CPU @ 2.5GHz: fast\n\nprocessor\t: 1\nmodel name\t: Other\n")
	if got, want := infoOf(cpuinfo, "model name"), "Some CPU @ 2.5GHz: fast"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := infoOf(cpuinfo, "bogomips"); got != "unknown" {
		t.Errorf("got %q", got)
	}
}

func TestMemoryOf(t *testing.T) {
	if n, err := memoryOf([]byte("MemTotal:       24683468 kB\nMemFree:        16350000 kB\n")); err != nil || n != 24683468<<10 {
		t.Errorf("got %d, %v", n, err)
	}
	for _, text := range []string{"", "MemTotal: 5 pages\n", "MemTotal: some kB\n"} {
		if n, err := memoryOf([]byte(text)); err == nil {
			t.Errorf("%q is read as %d", text, n)
		}
	}
}

func TestLayerOf(t *testing.T) {
	for _, c := range []struct {
		want  string
		stack []string
	}{
		{"SQLite", []string{"runtime.memmove", "modernc.org/sqlite/lib._sqlite3VdbeExec", "database/sql.(*Rows).Next"}},
		{"memory: allocation and collection", []string{"runtime.nextFreeFast", "runtime.mallocgc", "net/http.readRequest"}},
		{"system calls: sockets, files, waiting", []string{"internal/runtime/syscall/linux.Syscall6", "syscall.write", "net/http.(*conn).serve"}},
		{"net/http", []string{"indexbytebody", "bufio.(*Reader).ReadSlice", "net/http.readRequest"}},
		{elsewhere, []string{"runtime.goexit"}},
	} {
		if got := layerOf(c.stack); got != c.want {
			t.Errorf("%v: %s, want %s", c.stack, got, c.want)
		}
	}
}
