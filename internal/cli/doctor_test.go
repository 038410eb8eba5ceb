package cli

import (
	"testing"

	"galley/internal/sqlstore"
)

func TestDiskSpace(t *testing.T) {
	const gb = 1 << 30
	for _, c := range []struct {
		free, all uint64
		want      sqlstore.Level
	}{
		{50 * gb, 100 * gb, sqlstore.LevelOK},
		{10 * gb, 100 * gb, sqlstore.LevelOK},
		{10*gb - 1, 100 * gb, sqlstore.LevelWarn},
		{10 * gb, 1000 * gb, sqlstore.LevelOK},
		{gb, 2 * gb, sqlstore.LevelOK},
		{gb - 1, 2 * gb, sqlstore.LevelWarn},
		{16 << 20, 100 * gb, sqlstore.LevelWarn},
		{16<<20 - 1, 100 * gb, sqlstore.LevelFail},
		{0, 100 * gb, sqlstore.LevelFail},
	} {
		got := judgeDisk(c.free, c.all)
		if got.Level != c.want || (got.Todo == "") != (c.want == sqlstore.LevelOK) {
			t.Errorf("%d of %d free: %v", c.free, c.all, got)
		}
	}
	free, all, err := diskSpace(t.TempDir())
	if err != nil || free == 0 || free > all {
		t.Errorf("this disk has %d of %d free: %v", free, all, err)
	}
}

func TestVolume(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 999_990: "999.9 kB", 1500: "1.5 kB", 5_640_000: "5.6 MB", 270_600_000_000: "270.6 GB"} {
		if got := volume(n); got != want {
			t.Errorf("%d is written %s", n, got)
		}
	}
}
