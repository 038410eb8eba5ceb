//go:build unix

package server

import "syscall"

// maxFiles is the limit on open files. Go has raised the soft limit to the hard
// one.
func maxFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<30))
}
