package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

var diskFullRun = run{
	name: "disk-full",
	target: "a full disk 3 times under 8 writers, on SQLite and on PostgreSQL: writes are answered 503 and reads 200, " +
		"no write is lost or half done, each has its audit entry, writes resume within 5 s after space returns, nothing is started again",
	short: "a full disk once under 8 writers, on SQLite: writes are answered 503 and reads 200, " +
		"no write is lost or half done, each has its audit entry, writes resume after space returns, nothing is started again (times are told, not judged)",
	limit: 5 * time.Minute, shortLimit: 3 * time.Minute,
	lacking: lackingMount,
	do:      diskFull,
}

// lackingMount tries whether disks can be mounted.
func lackingMount() string {
	const needed = "root, and leave to mount"
	folder, err := os.MkdirTemp("", "galley-torture-mount")
	if err != nil {
		return needed
	}
	defer func() { _ = os.Remove(folder) }()
	if syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=64k") != nil || syscall.Unmount(folder, 0) != nil {
		return needed
	}
	return ""
}

const (
	diskWriters = 8
	diskSize    = 128 << 20
	// fullFor is how long a disk stays full, and fullAnswers how many writes
	// have to be refused meanwhile.
	fullFor     = 2 * time.Second
	fullAnswers = 100
)

func diskFull(t *trial) error {
	d, err := t.newDisk(t.folder("disk"), nil)
	if err != nil {
		return err
	}
	if err := d.fillUnder(t, "sqlite", "--data", filepath.Join(d.folder, "data")); err != nil || t.short {
		return err
	}
	pg, err := newPostgres(t, "postgres")
	if err != nil {
		return err
	}
	if d, err = t.newDisk(pg.data(), pg.user); err != nil {
		return err
	}
	// Its log is elsewhere, as it should be: where that can't grow, PostgreSQL
	// ends, and with it the reads.
	if err := pg.initdb("--waldir", filepath.Join(pg.folder, "wal")); err != nil {
		return err
	}
	if err := pg.start(); err != nil {
		return err
	}
	if err := d.fillUnder(t, "postgres", "--database-url", pg.url("postgres")); err != nil {
		return err
	}
	t.want(pg.running(), "PostgreSQL has ended")
	return nil
}

// fillUnder fills the disk under a server and its writers, and frees it again.
func (d *disk) fillUnder(t *trial, engine string, store ...string) error {
	s, err := t.serve(engine, append(store, "--app-rate", "off", "--log-level", "warn")...)
	if err != nil {
		return err
	}
	sample, err := newSample(t, s.addr)
	if err != nil {
		return err
	}
	f, err := newFleet(t, s.addr, diskWriters, 2)
	if err != nil {
		return err
	}
	var reads tally
	var slowest time.Duration
	rounds := pick(t, 3, 1)
	defer t.section(engine, func() {
		f.figures(t, rounds*fullAnswers)
		t.got("reads", reads.sent())
		t.got("slowestRecoveryMs", ms(slowest))
		t.want(reads.good == reads.sent(), "%d of %d reads failed, the first: %s", reads.sent()-reads.good, reads.sent(), reads.first)
		t.want(t.short || slowest <= 5*time.Second, "writes took %s to resume", slowest)
		t.want(s.running(), "the server has ended")
		s.kill()
	})
	for round := range rounds {
		r := sample.startReader(s.addr)
		before := f.sum(func(w *writer) int { return w.unavailable })
		err := f.whileWriting(t, waitForServer(t), func() error {
			t.sleep(300 * time.Millisecond)
			if err := d.stayFull(t, fullFor); err != nil {
				return err
			}
			if err := d.free(); err != nil {
				return err
			}
			start := time.Now()
			err := sample.probe(s.addr)
			slowest = max(slowest, time.Since(start))
			t.sleep(200 * time.Millisecond)
			return err
		})
		reads.add(r.stop())
		if err != nil {
			return err
		}
		refused := f.sum(func(w *writer) int { return w.unavailable }) - before
		t.want(refused >= fullAnswers, "only %d writes were refused while the disk was full", refused)
		if err := f.inspect(t, s.addr); err != nil {
			return err
		}
		t.progress.show(round+1, rounds, "%s: %d acknowledged writes, %d refused, %d lost", engine, f.acknowledged(), refused, f.lost())
	}
	return f.inspectAll(t)
}

// disk is a small file system of its own.
type disk struct {
	folder string
	filler string
}

// newDisk mounts a disk on a folder until the run ends. It belongs to a user;
// nil is who we are.
func (t *trial) newDisk(folder string, owner *syscall.Credential) (*disk, error) {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	options := fmt.Sprintf("size=%d,mode=0700", diskSize)
	if owner != nil {
		options += fmt.Sprintf(",uid=%d,gid=%d", owner.Uid, owner.Gid)
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, options); err != nil {
		return nil, fmt.Errorf("this run needs a small disk of its own, and so root and leave to mount: %w", err)
	}
	t.atEnd(func() {
		// Whoever is still about to end keeps it no longer than that.
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.problem("%s stays mounted: %v", folder, err)
		}
	})
	return &disk{folder, filepath.Join(folder, "filler")}, nil
}

// stayFull takes all space for a time, also what others free meanwhile.
func (d *disk) stayFull(t *trial, howLong time.Duration) error {
	file, err := os.OpenFile(d.filler, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it is only in the way
	block := make([]byte, 1<<20)
	for end := time.Now().Add(howLong); time.Now().Before(end) && t.ctx.Err() == nil; {
		_, err := file.Write(block)
		if err == nil {
			continue
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
		if len(block) > 4096 {
			block = block[:4096]
			continue
		}
		t.sleep(time.Millisecond)
	}
	return t.ctx.Err()
}

func (d *disk) free() error { return os.Remove(d.filler) }
