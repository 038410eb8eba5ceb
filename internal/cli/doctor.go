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
	"strings"

	"galley/internal/config"
	"galley/internal/ratelimit"
	"galley/internal/sqlstore"
)

type doctorCommand struct {
	config.Server

	Deep bool `help:"Read all of an SQLite database, and check it against itself."`
	JSON bool `help:"Print one JSON object." name:"json"`
}

func (c *doctorCommand) Help() string {
	return `It takes the settings that 'galley serve' takes, changes nothing, and may be run
beside a server. The exit code is 1 if something fails.

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
		todo := "see what the message says"
		if errors.Is(err, os.ErrNotExist) {
			todo = "start 'galley serve', which makes one, or restore a backup"
		}
		return append(found, sqlstore.Finding{Check: check, Level: sqlstore.LevelFail, Found: err.Error(), Todo: todo})
	}
	defer func() { _ = store.Close() }() // nothing was written
	if err := store.Reach(t.ctx); err != nil {
		todo := "make it answer, and look again"
		if sqlstore.Damaged(err) || sqlstore.Denied(err) {
			todo = "do what the message says, and look again"
		}
		return append(found, sqlstore.Finding{Check: check, Level: sqlstore.LevelFail, Found: t.trouble(c.Store, err).Error(), Todo: todo})
	}
	found = append(found, sqlstore.Finding{Check: check, Level: sqlstore.LevelOK, Found: "it answers"})
	found = append(found, store.Examine(t.ctx, c.Deep)...)
	if c.ListenURL != "" && c.DatabaseURL != "" {
		found = append(found, store.ExamineListener(t.ctx, c.ListenURL))
	}
	if c.ReplicaURL != "" && c.DatabaseURL != "" {
		found = append(found, store.ExamineReplica(t.ctx, c.ReplicaURL))
	}
	return found
}

// examineSettings checks what serve would refuse to start with.
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
		return sqlstore.Finding{Check: check, Level: sqlstore.LevelFail, Found: err.Error(), Todo: "'galley serve --help' tells what there is"}
	}
	return sqlstore.Finding{Check: check, Level: sqlstore.LevelOK, Found: "they make sense together"}
}

func examineVariables(t *terminal) sqlstore.Finding {
	const check = "variables"
	if unknown := config.UnknownVariables(t.parser.Model, os.Environ()); len(unknown) > 0 {
		return sqlstore.Finding{Check: check, Level: sqlstore.LevelWarn, Found: "no settings, and so ignored: " + strings.Join(unknown, ", "), Todo: "correct their names, or take them away"}
	}
	return sqlstore.Finding{Check: check, Level: sqlstore.LevelOK, Found: "each that begins with GALLEY_ is a setting"}
}

// examineRedis counts a request in Redis: one that answers may still refuse to
// count, as a replica does.
func examineRedis(ctx context.Context, url string) sqlstore.Finding {
	const check = "redis"
	if err := ratelimit.CheckRedis(ctx, url); err != nil {
		return sqlstore.Finding{
			Check: check, Level: sqlstore.LevelFail, Found: "it does not count: " + err.Error(),
			Todo: "check --redis-url and that Redis runs; until then each node counts requests by itself",
		}
	}
	return sqlstore.Finding{Check: check, Level: sqlstore.LevelOK, Found: "it counts"}
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
			return sqlstore.Finding{Check: check, Level: sqlstore.LevelWarn, Found: "how full it is can't be told: " + err.Error(), Todo: "look yourself"}
		}
		return judgeDisk(free, all)
	}
}

// What a disk should have free: a tenth, or as much as is plenty on any disk; and
// never less than some.
const (
	leastShare = 0.1
	plentyFree = 10 << 30
	leastFree  = 1 << 30
	noneFree   = 16 << 20 // the next writes may not fit
)

func judgeDisk(free, all uint64) sqlstore.Finding {
	f := sqlstore.Finding{
		Check: "disk", Level: sqlstore.LevelOK,
		Found: fmt.Sprintf("%s of %s are free", volume(int64(free)), volume(int64(all))),
	}
	if free < leastFree || (free < plentyFree && float64(free) < leastShare*float64(all)) {
		f.Level, f.Todo = sqlstore.LevelWarn, "make room, or move the data folder: a full disk refuses every write"
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
