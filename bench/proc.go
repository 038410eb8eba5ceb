package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc; Linux has had no other for decades.
const tick = 10 * time.Millisecond

// process is a line of /proc/PID/stat.
type process struct {
	pid, parent int
	name        string
	cpu         time.Duration // user and system, with that of children that have ended
}

// processes reads all processes there are.
func processes() map[int]process {
	table := map[int]process{}
	for _, file := range must(filepath.Glob("/proc/[0-9]*/stat")) {
		if text, err := os.ReadFile(file); err == nil { // else it has ended meanwhile
			p := must(parseStat(text))
			table[p.pid] = p
		}
	}
	return table
}

func parseStat(text []byte) (process, error) {
	// The name is in parentheses and may hold anything, also parentheses.
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:]))
	if open < 0 || end < open || len(fields) < 15 {
		return process{}, fmt.Errorf("can't read process %q", text)
	}
	p := process{name: string(text[open+1 : end])}
	var err1, err2 error
	p.pid, err1 = strconv.Atoi(strings.TrimSpace(string(text[:open])))
	p.parent, err2 = strconv.Atoi(fields[1])
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		ticks, err := strconv.ParseInt(field, 10, 64)
		err1 = errors.Join(err1, err)
		p.cpu += time.Duration(ticks) * tick
	}
	return p, errors.Join(err1, err2)
}

// within is the part of a table that descends from some processes, and they
// themselves.
func within(table map[int]process, roots []int) map[int]process {
	part := map[int]process{}
	for pid, p := range table {
		for at := p; ; at = table[at.parent] {
			if slices.Contains(roots, at.pid) {
				part[pid] = p
			}
			if at.pid == 0 || part[pid].pid != 0 {
				break
			}
		}
	}
	return part
}

func total(table map[int]process) (sum time.Duration) {
	for _, p := range table {
		sum += p.cpu
	}
	return sum
}

// residentOf is the memory of a process that is in RAM, in bytes.
func residentOf(pid int) int64 {
	status := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))
	kilobytes := strings.TrimSuffix(infoOf(status, "VmRSS"), " kB")
	return must(strconv.ParseInt(kilobytes, 10, 64)) << 10
}

// parseBusy parses the first line of /proc/stat: the CPU time that all processes
// have used, and that which other machines have had instead. Interrupts are left
// out: our own traffic causes most of them, and no process is charged for them.
func parseBusy(line string) (used, stolen time.Duration) {
	fields := strings.Fields(line)
	if len(fields) < 9 {
		check(fmt.Errorf("can't read /proc/stat: %q", line))
	}
	spent := func(i int) time.Duration { return time.Duration(must(strconv.ParseInt(fields[i], 10, 64))) * tick }
	const user, nice, system, steal = 1, 2, 3, 8
	return spent(user) + spent(nice) + spent(system), spent(steal)
}
