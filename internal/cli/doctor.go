package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"galley/internal/config"
	"galley/internal/ratelimit"
	"galley/internal/sqlstore"
)

type doctorCommand struct {
	config.Server

	Deep bool `help:"Check the integrity of the whole SQLite database."`
	JSON bool `help:"Print one JSON object." name:"json"`
}

func (c *doctorCommand) Help() string {
	return `Takes the same settings as 'galley serve', changes nothing, and can run beside a
server. The exit code is 1 if a check fails.

Examples:
  galley doctor --data /var/lib/galley
  galley doctor --config /etc/galley.yaml --deep --json`
}

func (c *doctorCommand) Run(t *terminal) error {
	found := c.examine(t)
	failed := 0
	for _, f := range found {
		if f.Level == sqlstore.LevelFail {
			failed++
		}
	}
	if c.JSON {
		if err := printJSON(t.out, found, failed == 0); err != nil {
			return err
		}
	} else {
		printTable(t, found)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(found))
	}
	return nil
}

func (c *doctorCommand) examine(t *terminal) []sqlstore.Finding {
	found := []sqlstore.Finding{c.examineSettings(), examineVariables(t)}
	if c.RedisURL != "" {
		found = append(found, examineRedis(t.ctx, c.RedisURL))
	}
	if c.DatabaseURL == "" {
		found = append(found, examineDisk(c.Data))
	}
	const check = "store"
	store, err := openExisting(c.Store)
	if err != nil {
		todo := "fix the error above"
		if errors.Is(err, os.ErrNotExist) {
			todo = "create it with 'galley serve', or restore a backup"
		}
		return append(found, sqlstore.Finding{Check: check, Level: sqlstore.LevelFail, Found: err.Error(), Todo: todo})
	}
	defer func() { _ = store.Close() }() // nothing was written
	if err := store.Reach(t.ctx); err != nil {
		todo := "check that the database runs and can be reached"
		if sqlstore.Damaged(err) || sqlstore.Denied(err) {
			todo = "fix the error above"
		}
		return append(found, sqlstore.Finding{Check: check, Level: sqlstore.LevelFail, Found: t.trouble(c.Store, err).Error(), Todo: todo})
	}
	found = append(found, sqlstore.Finding{Check: check, Level: sqlstore.LevelOK, Found: "reachable"})
	found = append(found, store.Examine(t.ctx, c.Deep)...)
	if c.ListenURL != "" && c.DatabaseURL != "" {
		found = append(found, store.ExamineListener(t.ctx, c.ListenURL))
	}
	if c.ReplicaURL != "" && c.DatabaseURL != "" {
		found = append(found, store.ExamineReplica(t.ctx, c.ReplicaURL))
	}
	return found
}

// examineSettings checks the settings as serve does.
func (c *doctorCommand) examineSettings() sqlstore.Finding {
	const check = "settings"
	serve := serveCommand{c.Server}
	err := serve.check()
	if err == nil {
		_, err = readBootstrap(c.Server)
	}
	if err == nil {
		_, err = serve.encryption(slog.New(slog.DiscardHandler))
	}
	if err != nil {
		return sqlstore.Finding{Check: check, Level: sqlstore.LevelFail, Found: err.Error(), Todo: "run 'galley serve --help' to see the settings"}
	}
	return sqlstore.Finding{Check: check, Level: sqlstore.LevelOK, Found: "valid"}
}

func examineVariables(t *terminal) sqlstore.Finding {
	const check = "variables"
	if err := config.CheckVariables(t.parser.Model, os.Environ()); err != nil {
		return sqlstore.Finding{Check: check, Level: sqlstore.LevelFail, Found: err.Error(), Todo: "correct their names, or unset them"}
	}
	return sqlstore.Finding{Check: check, Level: sqlstore.LevelOK, Found: "every GALLEY_ variable is a setting"}
}

// examineRedis counts a request in Redis: a replica answers, but refuses writes.
func examineRedis(ctx context.Context, url string) sqlstore.Finding {
	const check = "redis"
	if err := ratelimit.CheckRedis(ctx, url); err != nil {
		return sqlstore.Finding{
			Check: check, Level: sqlstore.LevelFail, Found: "can't count requests: " + err.Error(),
			Todo: "check --redis-url and that Redis runs; until then each node applies rate limits on its own",
		}
	}
	return sqlstore.Finding{Check: check, Level: sqlstore.LevelOK, Found: "reachable"}
}

func examineDisk(data string) sqlstore.Finding {
	const check = "disk"
	folder := data
	for { // the folder may not be there yet
		free, all, err := diskSpace(folder)
		if errors.Is(err, os.ErrNotExist) && folder != filepath.Dir(folder) {
			folder = filepath.Dir(folder)
			continue
		}
		if err != nil {
			return sqlstore.Finding{Check: check, Level: sqlstore.LevelWarn, Found: "can't read the free space: " + err.Error(), Todo: "check the free space yourself"}
		}
		return judgeDisk(free, all)
	}
}

// A disk should have a tenth of its space free, or plentyFree, and never less
// than leastFree.
const (
	leastShare = 0.1
	plentyFree = 10 << 30
	leastFree  = 1 << 30
	noneFree   = 16 << 20 // the next writes may not fit
)

func judgeDisk(free, all uint64) sqlstore.Finding {
	f := sqlstore.Finding{
		Check: "disk", Level: sqlstore.LevelOK,
		Found: fmt.Sprintf("%s of %s free", volume(int64(free)), volume(int64(all))),
	}
	if free < leastFree || (free < plentyFree && float64(free) < leastShare*float64(all)) {
		f.Level, f.Todo = sqlstore.LevelWarn, "free up space, or move the data folder: writes fail when the disk is full"
	}
	if free < noneFree {
		f.Level = sqlstore.LevelFail
	}
	return f
}

// printTable prints a line for each finding, and one below it for what to do.
func printTable(t *terminal, found []sqlstore.Finding) {
	for _, f := range found {
		t.printf("%-4s  %-12s %s\n", f.Level, f.Check, f.Found)
		if f.Todo != "" {
			t.printf("%-4s  %-12s → %s\n", "", "", f.Todo)
		}
	}
}

// finding is a finding as programs read it.
type finding struct {
	Check  string         `json:"check"`
	Status sqlstore.Level `json:"status"`
	Found  string         `json:"found"`
	Todo   *string        `json:"todo"`
}

func printJSON(out io.Writer, found []sqlstore.Finding, ok bool) error {
	object := struct {
		OK     bool      `json:"ok"`
		Checks []finding `json:"checks"`
	}{OK: ok}
	for _, f := range found {
		item := finding{Check: f.Check, Status: f.Level, Found: f.Found}
		if f.Todo != "" {
			item.Todo = &f.Todo
		}
		object.Checks = append(object.Checks, item)
	}
	return json.NewEncoder(out).Encode(object)
}
