package server_test

import (
	"io"
	"net"
	"testing"

	"galley/internal/server"
)

func TestWaitIsKnown(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(client, "x"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the wait is long", func() bool { return server.Waited(raw) >= server.Late })
	eventually(t, "a byte begins it anew", func() bool {
		_, err := io.WriteString(client, "x")
		return err == nil && server.Waited(raw) < server.Late
	})
}
