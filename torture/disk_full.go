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
		"no write is lost or half done, each has its audit entry, writes resume after space returns, nothing is started again (times are reported, not judged)",
	limit: 5 * time.Minute, shortLimit: 3 * time.Minute,
	lacking: lackingMount,
	do:      diskFull,
}

// lackingMount tries to mount a disk.
func lackingMount() string {
	const needed = "root, and the right to mount"
	folder, err := os.MkdirTemp("", "galley-torture-mount")
	defer func() { _ = os.Remove(folder) }()
	if err != nil || syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=64k") != nil || syscall.Unmount(folder, 0) != nil {
		return needed
	}
	return ""
}

const (
	diskWriters = 8
	diskSize    = 128 << 20
	fullFor     = 2 * time.Second
	fullAnswers = 100 // writes that must be refused meanwhile
)

func diskFull(t *trial) {
	d := t.newDisk(t.folder("disk"), nil)
	d.fillUnder(t, "sqlite", "--data", filepath.Join(d.folder, "data"))
	if t.short {
		return
	}
	pg := newPostgres(t, "postgres")
	d = t.newDisk(pg.data(), pg.user)
	// Its log is elsewhere, as it should be: if that can't grow, PostgreSQL
	// ends, and no read succeeds.
	pg.initdb("--waldir", filepath.Join(pg.folder, "wal"))
	pg.start()
	d.fillUnder(t, "postgres", "--database-url", pg.url("postgres"))
	t.want(pg.running(), "PostgreSQL has ended")
}

// fillUnder fills the disk under a server and its writers, and frees it again.
func (d *disk) fillUnder(t *trial, engine string, store ...string) {
	s := t.serve(engine, store...)
	sample := newSample(t, s.addr)
	f := newFleet(t, s.addr, diskWriters, 2)
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
		stop := sample.startReader(s.addr)
		before := f.sum(func(w *writer) int { return w.unavailable })
		f.whileWriting(t, waitForServer(t), func() {
			t.sleep(300 * time.Millisecond)
			d.stayFull(t, fullFor)
			check(os.Remove(d.filler))
			start := time.Now()
			sample.probe(s.addr)
			slowest = max(slowest, time.Since(start))
			t.sleep(200 * time.Millisecond)
		})
		reads.add(stop())
		refused := f.sum(func(w *writer) int { return w.unavailable }) - before
		t.want(refused >= fullAnswers, "only %d writes were refused while the disk was full", refused)
		f.inspect(t, s.addr)
		t.progress.show(round+1, rounds, "%s: %d acknowledged writes, %d refused, %d lost", engine, f.acknowledged(), refused, f.lost())
	}
	f.inspectAll(t)
}

// disk is a small file system of its own.
type disk struct{ folder, filler string }

// newDisk mounts a disk on a folder until the run ends. It belongs to a user;
// nil is the current one.
func (t *trial) newDisk(folder string, owner *syscall.Credential) *disk {
	check(os.Mkdir(folder, 0o755))
	options := fmt.Sprintf("size=%d,mode=0700", diskSize)
	if owner != nil {
		options += fmt.Sprintf(",uid=%d,gid=%d", owner.Uid, owner.Gid)
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, options); err != nil {
		check(fmt.Errorf("this run needs a small disk of its own, and so root and the right to mount: %w", err))
	}
	t.atEnd(func() {
		// A process that is about to end keeps it no longer than that.
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.problem("%s stays mounted: %v", folder, err)
		}
	})
	return &disk{folder, filepath.Join(folder, "filler")}
}

// stayFull takes all space for a time, also what is freed meanwhile.
func (d *disk) stayFull(t *trial, howLong time.Duration) {
	file := must(os.OpenFile(d.filler, os.O_CREATE|os.O_WRONLY, 0o600))
	defer func() { _ = file.Close() }() // its content does not matter
	block := make([]byte, 1<<20)
	for end := time.Now().Add(howLong); time.Now().Before(end); {
		check(t.ctx.Err())
		_, err := file.Write(block)
		switch {
		case err == nil:
		case !errors.Is(err, syscall.ENOSPC):
			check(err)
		case len(block) > 4096:
			block = block[:4096]
		default:
			t.sleep(time.Millisecond)
		}
	}
}
