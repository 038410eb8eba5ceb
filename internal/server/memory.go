package server

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A process of up to smallMemory collects garbage more often rather than grow
// beyond it, so that ten thousand slow connections fit into 256 MB. What is in
// use may be more than that: from there on the collector has the more room, the
// larger the process is, as it has by default.
const (
	smallMemory = 200 << 20
	lessRoom    = 128 << 20
)

// KeepSmall is the job that sets the collector's limit by what is in use. An
// operator who sets GOMEMLIMIT decides instead.
func KeepSmall() Job {
	run := func(context.Context) error {
		debug.SetMemoryLimit(memoryLimit(inUse()))
		return nil
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		run = func(context.Context) error { return nil }
	} else {
		debug.SetMemoryLimit(smallMemory)
	}
	return Job{Name: "keep memory small", Every: time.Second, Run: run}
}

func memoryLimit(inUse int64) int64 { return max(smallMemory, 2*inUse-lessRoom) }

// inUse is what was not garbage at the last collection, and all stacks.
func inUse() int64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() + samples[1].Value.Uint64())
}
