package server

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// waited is how long ago the last byte arrived at a connection, by what the
// kernel knows.
func waited(conn syscall.RawConn) time.Duration {
	var info *unix.TCPInfo
	var failed error
	err := conn.Control(func(fd uintptr) {
		info, failed = unix.GetsockoptTCPInfo(int(fd), unix.SOL_TCP, unix.TCP_INFO)
	})
	if err != nil || failed != nil {
		return 0 // the connection is gone, or no TCP
	}
	return time.Duration(info.Last_data_recv) * time.Millisecond
}
