package main

import "testing"

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
