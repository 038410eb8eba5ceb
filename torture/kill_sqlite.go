package main

import "time"

var killSQLiteRun = run{
	name: "kill-sqlite",
	target: "200 kills -9 under 16 writers, at least 50,000 acknowledged writes: none lost, none half done or doubled, " +
		"each with its audit entry, ready again within 1 s",
	short: "5 kills -9 under 16 writers, at least 1,000 acknowledged writes: none lost, none half done or doubled, " +
		"each with its audit entry, and the server is ready again (times are told, not judged)",
	limit: 20 * time.Minute, shortLimit: 4 * time.Minute,
	do: killSQLite,
}

const (
	killWriters = 16
	killSites   = 4
)

func killSQLite(t *trial) error {
	kills, least := pick(t, 200, 5), pick(t, 50_000, 1_000)
	serve := func() (*server, error) {
		return t.serve("server", "--data", t.folder("data"), "--app-rate", "off", "--log-level", "warn")
	}
	s, err := serve()
	if err != nil {
		return err
	}
	f, err := newFleet(t, s.addr, killWriters, killSites)
	if err != nil {
		return err
	}
	var slowest time.Duration
	killed := 0
	defer func() {
		t.got("kills", killed)
		f.figures(t, least)
		t.got("slowestReadyMs", ms(slowest))
		t.want(t.short || slowest <= time.Second, "the server took %s to be ready again", slowest)
	}()
	for kill := range kills {
		// The last round makes up for what the rounds' chances left.
		quota := least/kills + t.rng.IntN(least/kills/5)
		if kill == kills-1 {
			quota = max(quota, least-f.acknowledged())
		}
		if err := f.writeUntilKilled(t, s, quota); err != nil {
			return err
		}
		killed++
		if s, err = serve(); err != nil {
			return err
		}
		slowest = max(slowest, s.ready)
		if err := f.inspect(t, s.addr); err != nil {
			return err
		}
		t.progress.show(kill+1, kills, "%d kills, %d acknowledged writes, %d lost, slowest start %s", kill+1, f.acknowledged(), f.lost(), slowest.Round(time.Millisecond))
	}
	return f.inspectAll(t)
}
