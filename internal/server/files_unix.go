//go:build unix

package server

import "syscall"

// maxFiles is how many files and connections the process may have open. Go has
// raised the soft limit to the hard one by now.
func maxFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<30))
}
