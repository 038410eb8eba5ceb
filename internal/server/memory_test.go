package server_test

import (
	"math"
	"runtime/debug"
	"testing"

	"galley/internal/server"
)

func TestLimitOfMemory(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	for _, c := range []struct {
		name         string
		limit, inUse int64
		collecting   float64
		want         int64
	}{
		{"small and idle", 200, 20, 0, 200},
		{"small and busy", 200, 60, 0.3, 200}, // twice what is in use is enough
		{"many idle connections", 200, 160, 0.02, 200},
		{"many busy connections", 200, 160, 0.3, 264},
		{"still busy", 264, 160, 0.3, 320},
		{"busy enough", 264, 160, 0.07, 264},
		{"idle again", 320, 160, 0.01, 304},
		{"large and idle", 1872, 1000, 0.01, 1872},
		{"large and busy", 1872, 1000, 0.3, 1936},
		{"large of a sudden", 200, 1000, 0.5, 1872},
		{"small again", 2000, 20, 0.01, 200},
	} {
		if got := server.NextLimit(c.limit*mebibyte, c.inUse*mebibyte, c.collecting) / mebibyte; got != c.want {
			t.Errorf("%s: %d MiB, want %d", c.name, got, c.want)
		}
	}
}

func TestLimitOfMemoryIsSetUnlessTheOperatorDoes(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for variable, set := range map[string]bool{"": true, "1GiB": false} {
		t.Setenv("GOMEMLIMIT", variable)
		debug.SetMemoryLimit(math.MaxInt64)
		if err := server.KeepSmall().Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := debug.SetMemoryLimit(-1); (got != math.MaxInt64) != set {
			t.Errorf("GOMEMLIMIT=%q: limit %d", variable, got)
		}
	}
}
