package main

import "time"

var killPostgresRun = run{
	name: "kill-postgres",
	target: "PostgreSQL killed with -9 20 times under 3 nodes and 16 writers with at least 3,000 acknowledged writes: none lost, " +
		"none half done or doubled, each with its audit entry; only 503 meanwhile, and no broken connection; " +
		"every node writes and reads within 2 s after PostgreSQL accepts connections; no node is started again",
	short: "PostgreSQL killed with -9 3 times under 3 nodes and 16 writers with at least 100 acknowledged writes: none lost, " +
		"none half done or doubled, each with its audit entry; only 503 meanwhile, and no broken connection; " +
		"every node writes and reads again; no node is started again (times are told, not judged)",
	limit: 10 * time.Minute, shortLimit: 4 * time.Minute,
	do: killPostgres,
}

func killPostgres(t *trial) error {
	kills, least := pick(t, 20, 3), pick(t, 3_000, 100)
	pg, err := startPostgres(t, "postgres")
	if err != nil {
		return err
	}
	n, err := startNodes(t, pg.url("postgres"))
	if err != nil {
		return err
	}
	o, err := newOutages(t, n, 200*time.Millisecond)
	if err != nil {
		return err
	}
	defer func() { o.figures(least, 2*time.Second) }()
	for range kills {
		err := o.next(func() error {
			pg.kill()
			t.sleep(time.Duration(t.rng.IntN(500)) * time.Millisecond)
			return pg.start()
		})
		if err != nil {
			return err
		}
		t.progress.show(o.count, kills, "%d kills, %d acknowledged writes, %d lost, slowest recovery %s", o.count, o.fleet.acknowledged(), o.fleet.lost(), o.slowest.Round(time.Millisecond))
	}
	return o.fleet.inspectAll(t)
}
