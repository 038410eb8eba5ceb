package sqlstore

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"galley/internal/calm"
)

// While big work goes through what PostgreSQL answered, somebody has to look
// whether readers call: see calm.Heard.
func TestReadersAreHeardWhileBigWorkReads(t *testing.T) {
	s := postgresForTest(t)
	const times = 200
	threadsFor := func() uint64 { // each read of an answer starts a goroutine
		created := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
		metrics.Read(created)
		before := created[0].Value.Uint64()
		for range times {
			_, err := s.write.ExecContext(t.Context(), `select 1`)
			do(t, err)
		}
		metrics.Read(created)
		return created[0].Value.Uint64() - before
	}
	if alone := threadsFor(); alone >= times {
		t.Errorf("%d reads by small work started %d goroutines, want none", times, alone)
	}
	usual := runtime.GOMAXPROCS(0)
	calm.Do(func() {
		until(t, "the work counts as big", func() bool { return runtime.GOMAXPROCS(0) > usual })
		if n := threadsFor(); n < times {
			t.Errorf("%d reads by big work started %d goroutines, want one each", times, n)
		}
	})
}
