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
	if want := (process{4242, 7, "a) b (c)", 2250 * time.Millisecond}); err != nil || p != want {
		t.Errorf("got %+v, want %+v, %v", p, want, err)
	}
	for _, text := range []string{"", "1 (init", "1 (init) S 0 1", "x (init) S 0 1 1 0 -1 1 1 2 3 4 1 1 1 1 20"} {
		if p, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q is parsed as %+v", text, p)
		}
	}
}

func TestWithin(t *testing.T) {
	table := map[int]process{
		1: {pid: 1, cpu: 1}, 10: {pid: 10, parent: 1, cpu: 10}, 11: {pid: 11, parent: 10, cpu: 100},
		12: {pid: 12, parent: 11, cpu: 1000}, 20: {pid: 20, parent: 1, cpu: 10000},
		30: {pid: 30, parent: 99, cpu: 100000}, // its parent is hidden
	}
	for want, roots := range map[time.Duration][]int{1110: {10}, 11100: {11, 20}, 0: nil} {
		if got := total(within(table, roots)); got != want {
			t.Errorf("below %v: %d, want %d", roots, got, want)
		}
	}
}

// TestSpanCharges checks that work is charged to the process that does it: one
// under measurement, or a foreign one.
func TestSpanCharges(t *testing.T) {
	worker := exec.Command("sh", "-c", "while :; do :; done")
	check(worker.Start())
	defer func() { _, _ = worker.Process.Kill(), worker.Wait() }()
	pids := []int{worker.Process.Pid}
	s := spanOf(func() {})
	var alone, share float64
	var busiest process
	// The kernel counts what the machine does by samples: on a busy one, it takes a while.
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && (share <= alone || busiest.cpu == 0); {
		time.Sleep(5 * tick)
		s.to = takeReading()
		alone, _ = s.foreign(pids)
		share, busiest = s.foreign(nil)
	}
	if share <= alone || busiest.cpu == 0 {
		t.Errorf("%.2f of the machine went elsewhere with the worker and %.2f without, most to %+v", share, alone, busiest)
	}
}

func TestStolenTimeIsApart(t *testing.T) {
	used, stolen := parseBusy("cpu  100 20 3 4000 50 6 7 80 0 0")
	if used != 123*tick || stolen != 80*tick {
		t.Errorf("%v were used and %v stolen", used, stolen)
	}
	if recovered(func() { parseBusy("cpu  100 20 3") }) == nil {
		t.Error("half a line is parsed")
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
	if n := residentOf(os.Getpid()); n < 1<<20 || n > 1<<34 {
		t.Errorf("this process has %d bytes", n)
	}
	if recovered(func() { residentOf(1 << 30) }) == nil {
		t.Error("a process that does not exist has memory")
	}
}

func TestInfoOf(t *testing.T) {
	cpuinfo := []byte("processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some CPU @ 2.5GHz: fast\n\nprocessor\t: 1\nmodel name\t: Other\n")
	for name, want := range map[string]string{"model name": "Some CPU @ 2.5GHz: fast", "bogomips": "unknown"} {
		if got := infoOf(cpuinfo, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	for text, want := range map[string]int64{"MemTotal:       24683468 kB\nMemFree:        16350000 kB\n": 24683468 << 10, "": 0, "MemTotal: 5 pages\n": 0, "MemTotal: some kB\n": 0} {
		var n int64
		if err := recovered(func() { n = memoryOf([]byte(text)) }); n != want || (err == nil) != (want > 0) {
			t.Errorf("%q is parsed as %d, %v", text, n, err)
		}
	}
}

func TestLayerOf(t *testing.T) {
	for stack, want := range map[string]string{
		"runtime.memmove modernc.org/sqlite/lib._sqlite3VdbeExec database/sql.(*Rows).Next": "SQLite",
		"runtime.nextFreeFast runtime.mallocgc net/http.readRequest":                        "memory: allocation and collection",
		"internal/runtime/syscall/linux.Syscall6 syscall.write net/http.(*conn).serve":      "system calls: sockets, files, waiting",
		"indexbytebody bufio.(*Reader).ReadSlice net/http.readRequest":                      "net/http",
		"runtime.goexit": elsewhere,
	} {
		if got := layerOf(strings.Fields(stack)); got != want {
			t.Errorf("%v: %s, want %s", stack, got, want)
		}
	}
}
