package main

import "testing"

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
