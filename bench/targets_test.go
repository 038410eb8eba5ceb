package main

import "testing"

func TestVerdicts(t *testing.T) {
	most := target{"get", "get by id", onSQLite, cpu, bareLimit, 2, 0}
	least := target{"create", "create", onSQLite, rate, "", 0, 5000}
	for _, c := range []struct {
		target target
		values []float64
		met    bool
		value  float64
	}{
		{most, []float64{9, 2, 1}, true, 2},
		{most, []float64{1, 2.01, 9}, false, 2.01},
		{least, []float64{5000}, true, 5000},
		{least, []float64{4999}, false, 4999},
	} {
		got := c.target.judge(c.values)
		if len(got) != 1 || got[0].value != c.value || got[0].met() != c.met {
			t.Errorf("%v of %v: got %+v", c.values, c.target, got)
		}
	}
	if got := most.judge(nil); got != nil {
		t.Errorf("a target without figures got %v", got)
	}
}

func TestSummaries(t *testing.T) {
	like := func(operation, who string, value float64) verdict {
		return verdict{target{"get", operation, who, cpu, bareLimit, 2, 0}, value}
	}
	all := summarize([]verdict{
		like("by id", onSQLite, 1.5), like("by id", onPostgres, 2.5), like("by pathname", onSQLite, 2.25), like("by pathname", onPostgres, 3),
		like("localized", onSQLite, 1.25),
	})
	if len(all) != 2 {
		t.Fatalf("got %d summaries: %v", len(all), all)
	}
	for i, want := range []string{
		"FAIL  Galley on SQLite, get: CPU a request 1.25 to 2.25 x of bare net/http (at most 2 x; by pathname)",
		"FAIL  Galley on PostgreSQL, get: CPU a request 2.50 to 3.00 x of bare net/http (at most 2 x)",
	} {
		if got := all[i].String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	met := summarize(judgeMemory(map[string]memory{onPostgres: {Idle: 39_960_000}}))
	if got, want := met[0].String(), "pass  Galley on PostgreSQL, after start: memory when idle 40.0 MB (at most 40 MB)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
