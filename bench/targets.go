package main

import "strconv"

// The contestants' names.
const (
	onSQLite      = "Galley on SQLite"
	onPostgres    = "Galley on PostgreSQL"
	uncached      = "Galley on PostgreSQL, uncached"
	bareLimit     = "bare net/http"
	peer          = "PocketBase"
	rawReadLimit  = "raw pgx reads"
	rawWriteLimit = "raw SQLite writer"
)

// metric is a figure that targets are about.
type metric string

const (
	cpu        metric = "CPU a request"
	rate       metric = "requests a second"
	pageRate   metric = "pages a second"
	rowRate    metric = "rows a second"
	idleMemory metric = "memory when idle"
	p50        metric = "p50"
	readersP50 metric = "readers' p50"
	readersP99 metric = "readers' p99"
)

// target bounds a figure of a contestant: as a multiple of another's, or as it
// is.
type target struct {
	kind      string // of operations, for those who want it short
	operation string
	who       string
	metric    metric
	against   string  // "": the figure itself
	atMost    float64 // or
	atLeast   float64
}

// What Galley wants to be.
const (
	maxOfBare     = 2.0
	maxOfPeer     = 0.1
	minOfRawReads = 0.6
	minRateOfPeer = 5.0
	minOfRawWrite = 0.4
	minBatchPages = 10_000
	maxIdle       = 40e6 // bytes
	minBigRows    = 20_000
	maxOfUsual    = 5.0 // for readers, while there is big work
	maxGrowth     = 1.5
)

// targetsOf are the targets of an operation of the comparison.
func targetsOf(op operation) []target {
	at := func(who string, m metric, against string, atMost, atLeast float64) target {
		return target{op.kind(), op.name, who, m, against, atMost, atLeast}
	}
	switch {
	case op.isGet():
		return []target{
			at(onSQLite, cpu, bareLimit, maxOfBare, 0),
			at(onPostgres, cpu, bareLimit, maxOfBare, 0),
			at(onSQLite, cpu, peer, maxOfPeer, 0),
			at(onPostgres, cpu, peer, maxOfPeer, 0),
			at(uncached, rate, rawReadLimit, 0, minOfRawReads),
		}
	case op.action == list:
		return []target{
			at(onSQLite, cpu, peer, maxOfPeer, 0),
			at(onPostgres, cpu, peer, maxOfPeer, 0),
		}
	case op.action == batch:
		return []target{at(onSQLite, pageRate, "", 0, minBatchPages)}
	default:
		return []target{
			at(onSQLite, rate, peer, 0, minRateOfPeer),
			at(onSQLite, rate, rawWriteLimit, 0, minOfRawWrite),
		}
	}
}

// verdict is what became of a target.
type verdict struct {
	target
	value float64
}

// judge holds the median of some values against a target.
func (t target) judge(values []float64) []verdict {
	if len(values) == 0 {
		return nil
	}
	return []verdict{{t, median(values)}}
}

func (v verdict) met() bool { return (v.atMost == 0 || v.value <= v.atMost) && v.value >= v.atLeast }

// bound says in words what is wanted.
func (t target) bound() string {
	words, value := "at most ", t.atMost
	if t.atLeast > 0 {
		words, value = "at least ", t.atLeast
	}
	switch {
	case t.against != "":
		return words + strconv.FormatFloat(value, 'g', -1, 64) + " x"
	case t.metric == idleMemory:
		return words + strconv.FormatFloat(value/1e6, 'g', -1, 64) + " MB"
	default:
		return words + t.amount(value)
	}
}

// amount writes a value as this target's are written.
func (t target) amount(value float64) string {
	switch {
	case t.against != "":
		return ratioText(value)
	case t.metric == idleMemory:
		return bytesText(int64(value))
	default:
		return rateText(value)
	}
}
