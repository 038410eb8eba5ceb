package server

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The collector is given a limit, so that ten thousand connections that do
// nothing fit into 256 MB. The limit gives way to what is in use and to work:
// where collecting takes up the processors, memory is the lesser cost.
const (
	smallMemory = 200 << 20 // the least limit
	lessRoom    = 128 << 20 // how far the limit stays below twice what is in use
	moreMemory  = 64 << 20  // by how much the limit is raised at a time
	lessMemory  = 16 << 20  // and lowered

	muchCollecting   = 0.10 // share of the processors at which the limit is raised
	littleCollecting = 0.05 // and below which it is lowered

	// garbage is how much there may be below the limit, in percent of what is in
	// use. With Go's 100, collecting took a fifth of the time of most requests.
	garbage = 300
)

// KeepSmall is the job that sets the collector's limit. An operator who sets
// GOMEMLIMIT decides instead.
func KeepSmall() Job {
	job := Job{Name: "keep memory small", Every: time.Second, Run: func(context.Context) error { return nil }}
	if os.Getenv("GOMEMLIMIT") != "" {
		return job
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	limit := int64(smallMemory)
	debug.SetMemoryLimit(limit)
	last := lookAtMemory()
	job.Run = func(context.Context) error {
		now := lookAtMemory()
		limit = nextLimit(limit, now.inUse, now.collectingSince(last))
		last = now
		debug.SetMemoryLimit(limit)
		return nil
	}
	return job
}

// nextLimit is the limit that follows on one, by what is in use and the share
// of the processors that collecting took.
func nextLimit(limit, inUse int64, collecting float64) int64 {
	least, most := max(smallMemory, 2*inUse-lessRoom), max(smallMemory, 2*inUse)
	switch {
	case collecting > muchCollecting:
		limit += moreMemory
	case collecting < littleCollecting:
		limit -= lessMemory
	}
	return min(max(limit, least), most)
}

// memoryUse is a look at the collector.
type memoryUse struct {
	at        time.Time
	inUse     int64   // what was not garbage at the last collection, and all stacks
	collected float64 // seconds of processors that collecting took so far
}

func lookAtMemory() memoryUse {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/cpu/classes/gc/total:cpu-seconds"},
	}
	metrics.Read(samples)
	return memoryUse{
		at: time.Now(), inUse: int64(samples[0].Value.Uint64() + samples[1].Value.Uint64()), collected: samples[2].Value.Float64(),
	}
}

// collectingSince is the share of the processors that collecting took.
func (u memoryUse) collectingSince(before memoryUse) float64 {
	available := u.at.Sub(before.at).Seconds() * float64(runtime.GOMAXPROCS(0))
	return (u.collected - before.collected) / max(available, 1e-9)
}
