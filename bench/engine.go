package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// engine is one of the databases that Galley keeps its data in, as a place for
// several stores, each with a name.
type engine interface {
	// label is what a Galley on it is called.
	label() string
	// flags are Galley's settings that choose a store.
	flags(store string) []string
	create(ctx context.Context, store string) error
	// settle does what the database would do by itself some time after a load.
	settle(ctx context.Context, store string) error
	// copy makes a settled store like another one, on which nobody runs.
	copy(ctx context.Context, from, to string) error
	drop(ctx context.Context, store string) error
	// processes are those of the database, where it has its own.
	processes() []int
}

// sqlite keeps each store in a folder of its own.
type sqlite struct{ folder string }

func (s sqlite) label() string                        { return onSQLite }
func (s sqlite) path(store string) string             { return filepath.Join(s.folder, store) }
func (s sqlite) flags(store string) []string          { return []string{"--data", s.path(store)} }
func (s sqlite) create(context.Context, string) error { return nil } // Galley does it
func (s sqlite) settle(context.Context, string) error { return nil }
func (s sqlite) processes() []int                     { return nil }

func (s sqlite) copy(_ context.Context, from, to string) error {
	return copyFolder(s.path(from), s.path(to))
}

// copyFolder leaves nothing to be written to the disk later, under measurement.
func copyFolder(from, to string) error {
	err := os.CopyFS(to, os.DirFS(from))
	syscall.Sync()
	return err
}

func (s sqlite) drop(_ context.Context, store string) error { return os.RemoveAll(s.path(store)) }

func (p *postgres) label() string { return onPostgres }

func (p *postgres) flags(store string) []string { return []string{"--database-url", p.url(store)} }

func (p *postgres) create(ctx context.Context, store string) error {
	return p.exec(ctx, "postgres", "create database "+store)
}

func (p *postgres) drop(ctx context.Context, store string) error {
	return p.exec(ctx, "postgres", "drop database "+store)
}

func (p *postgres) processes() []int { return []int{p.server.pid()} }

func (p *postgres) settle(ctx context.Context, store string) error {
	return p.exec(ctx, store, "vacuum analyze", "checkpoint")
}

func (p *postgres) copy(ctx context.Context, from, to string) error {
	if err := p.settle(ctx, from); err != nil {
		return err
	}
	if err := p.exec(ctx, "postgres", "create database "+to+" template "+from+" strategy file_copy"); err != nil {
		return err
	}
	return p.settle(ctx, to)
}

// engines are those of this run.
func (b *bench) engines() []engine {
	all := []engine{sqlite{b.folder}}
	if b.postgres != nil {
		all = append(all, b.postgres)
	}
	return all
}

// galleyOn is a Galley on a store of an engine.
func (b *bench) galleyOn(e engine, store string) *galley {
	return &galley{label: e.label(), binary: b.galley, flags: e.flags(store), beside: e.processes()}
}

// withoutCache turns a Galley's cache off, if it has one.
func (b *bench) withoutCache(ctx context.Context, g *galley) error {
	const flag = "--cache-size"
	help, err := exec.CommandContext(ctx, b.galley, "serve", "--help").Output()
	if err == nil && strings.Contains(string(help), flag) {
		g.flags = append(g.flags, flag, "0")
	}
	return err
}
