package cli

import (
	"encoding/json"
	"errors"
	"fmt"
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

func (c *doctorCommand) Run(t *terminal) error {
	found := c.examine(t)
	failed, checks := 0, make([]finding, len(found))
	for i, f := range found {
		checks[i] = finding{Check: f.Check, Status: f.Level, Found: f.Found}
		if f.Todo != "" {
			checks[i].Todo = &f.Todo
		}
		if f.Level == sqlstore.LevelFail {
			failed++
		}
		if !c.JSON {
			t.printf("%-4s  %-12s %s\n", f.Level, f.Check, f.Found)
		}
		if !c.JSON && f.Todo != "" {
			t.printf("%-4s  %-12s → %s\n", "", "", f.Todo)
		}
	}
	if c.JSON {
		if err := json.NewEncoder(t.out).Encode(map[string]any{"ok": failed == 0, "checks": checks}); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(found))
	}
	return nil
}

// finding is the JSON form of a finding.
type finding struct {
	Check  string         `json:"check"`
	Status sqlstore.Level `json:"status"`
	Found  string         `json:"found"`
	Todo   *string        `json:"todo"`
}

func (c *doctorCommand) examine(t *terminal) []sqlstore.Finding {
	found := []sqlstore.Finding{
		judge("settings", c.checkSettings(), "valid", "run 'galley serve --help' to see the settings"),
		judge("variables", config.CheckVariables(t.parser.Model, os.Environ()), "every GALLEY_ variable is a setting", "correct their names, or unset them"),
	}
	if c.RedisURL != "" { // a replica of Redis would answer a ping and refuse to count
		found = append(found, judge("redis", ratelimit.CheckRedis(t.ctx, c.RedisURL), "reachable",
			"check --redis-url and that Redis runs; until then each node applies rate limits on its own"))
	}
	if c.DatabaseURL == "" {
		found = append(found, examineDisk(c.Data))
	}
	store, err := openStore(c.Store, false, nil)
	if err != nil {
		todo := "fix the error above"
		if errors.Is(err, os.ErrNotExist) {
			todo = "create it with 'galley serve', or restore a backup"
		}
		return append(found, judge("store", err, "", todo))
	}
	defer func() { _ = store.Close() }() // nothing was written
	if err := store.Reach(t.ctx); err != nil {
		todo := "check that the database runs and can be reached"
		if sqlstore.Damaged(err) || sqlstore.Denied(err) {
			todo = "fix the error above"
		}
		return append(found, judge("store", t.explainLoad(c.Store, err), "", todo))
	}
	found = append(append(found, judge("store", nil, "reachable", "")), store.Examine(t.ctx, c.Deep)...)
	if c.ListenURL != "" && c.DatabaseURL != "" {
		found = append(found, store.ExamineListener(t.ctx, c.ListenURL))
	}
	if c.ReplicaURL != "" && c.DatabaseURL != "" {
		found = append(found, store.ExamineReplica(t.ctx, c.ReplicaURL))
	}
	return found
}

// judge returns the finding of a check that failed with an error, or passed.
func judge(check string, err error, passed, todo string) sqlstore.Finding {
	if err != nil {
		return sqlstore.Finding{Check: check, Level: sqlstore.LevelFail, Found: err.Error(), Todo: todo}
	}
	return sqlstore.Finding{Check: check, Level: sqlstore.LevelOK, Found: passed}
}

// checkSettings checks the settings as serve does.
func (c *doctorCommand) checkSettings() error {
	serve := serveCommand{c.Server}
	if err := serve.check(); err != nil {
		return err
	}
	if _, err := readBootstrap(c.Server); err != nil {
		return err
	}
	_, err := serve.encryption(slog.New(slog.DiscardHandler))
	return err
}

func examineDisk(data string) sqlstore.Finding {
	free, all, err := diskSpace(data)
	if parent := filepath.Dir(data); errors.Is(err, os.ErrNotExist) && parent != data {
		return examineDisk(parent) // the folder does not exist yet
	}
	if err != nil {
		return sqlstore.Finding{Check: "disk", Level: sqlstore.LevelWarn, Found: "can't read the free space: " + err.Error(), Todo: "check the free space yourself"}
	}
	return judgeDisk(free, all)
}

// A disk should have at least leastFree, and plentyFree or a tenth of its space.
const (
	leastShare = 0.1
	plentyFree = 10 << 30
	leastFree  = 1 << 30
	noneFree   = 16 << 20 // the next writes may fail
)

func judgeDisk(free, all uint64) sqlstore.Finding {
	f := judge("disk", nil, fmt.Sprintf("%s of %s free", volume(int64(free)), volume(int64(all))), "")
	if free < leastFree || (free < plentyFree && float64(free) < leastShare*float64(all)) {
		f.Level, f.Todo = sqlstore.LevelWarn, "free up space, or move the data folder: writes fail when the disk is full"
	}
	if free < noneFree {
		f.Level = sqlstore.LevelFail
	}
	return f
}
