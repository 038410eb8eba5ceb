package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The contestants' names.
const (
	onSQLite         = "Galley on SQLite"
	onPostgres       = "Galley on PostgreSQL"
	sqliteUncached   = onSQLite + ", uncached"
	postgresUncached = onPostgres + ", uncached"
	bareLimit        = "bare net/http"
	peer             = "PocketBase"
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

// target bounds a figure of a contestant, as it is or as a multiple of another.
type target struct {
	kind      string // of operations, for a summary
	operation string
	who       string
	metric    metric
	against   string  // a contestant, or an operation of the same one; "": the figure itself
	atMost    float64 // or
	atLeast   float64
}

// What Galley promises.
const (
	maxOfBare      = 1.6
	maxGetOfPeer   = 0.1
	maxListOfPeer  = 0.2
	maxUncachedGet = 120e3 // ns
	maxList        = 300e3 // ns
	maxLocalized   = 1.3   // times the list in the default locale
	minRateOfPeer  = 5.0
	minBatchPages  = 10_000
	maxIdle        = 40e6 // bytes
	minBigRows     = 20_000
	maxOfUsual     = 5.0 // for readers, while there is big work
	maxGrowth      = 1.5
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
			at(onSQLite, cpu, peer, maxGetOfPeer, 0),
			at(onPostgres, cpu, peer, maxGetOfPeer, 0),
			at(sqliteUncached, cpu, "", maxUncachedGet, 0),
		}
	case op.action == list && op.localized:
		return []target{at(sqliteUncached, cpu, listLive, maxLocalized, 0), at(sqliteUncached, cpu, peer, maxListOfPeer, 0)}
	case op.action == list:
		return []target{at(sqliteUncached, cpu, "", maxList, 0), at(sqliteUncached, cpu, peer, maxListOfPeer, 0)}
	case op.action == batch:
		return []target{at(onSQLite, pageRate, "", 0, minBatchPages)}
	default:
		return []target{at(onSQLite, rate, peer, 0, minRateOfPeer)}
	}
}

// judgeMemory compares the idle memory of Galley with its target.
func judgeMemory(all map[string]memory) (verdicts []verdict) {
	for _, who := range []string{onSQLite, onPostgres} {
		if m, ok := all[who]; ok {
			t := target{"after start", "after start", who, idleMemory, "", maxIdle, 0}
			verdicts = append(verdicts, t.judge([]float64{float64(m.Idle)})...)
		}
	}
	return verdicts
}

// verdict is the result of a target.
type verdict struct {
	target
	value float64
}

// judge compares the median of some values with a target.
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
	case t.metric == cpu:
		return durationText(time.Duration(value))
	default:
		return rateText(value)
	}
}

// summary is the results of targets that differ only in their operations.
type summary struct {
	target
	verdicts []verdict
}

// summarize puts like targets together, in the order in which they come.
func summarize(verdicts []verdict) (all []summary) {
	for _, v := range verdicts {
		shared := v.target
		shared.operation = ""
		i := slices.IndexFunc(all, func(s summary) bool { return s.target == shared })
		if i < 0 {
			i = len(all)
			all = append(all, summary{target: shared})
		}
		all[i].verdicts = append(all[i].verdicts, v)
	}
	return all
}

// got is the range of the values.
func (s summary) got() string {
	least, most := s.verdicts[0].value, s.verdicts[0].value
	for _, v := range s.verdicts {
		least, most = min(least, v.value), max(most, v.value)
	}
	from, to := s.amount(least), s.amount(most)
	if from == to {
		return to
	}
	return strings.TrimSuffix(from, " x") + " to " + to
}

// maxNamed is how many failures are named each.
const maxNamed = 2

// met reports whether all targets were met, and which were not, if others were.
func (s summary) met() (yes bool, failures string) {
	var failed []string
	for _, v := range s.verdicts {
		if !v.met() {
			failed = append(failed, v.operation)
		}
	}
	switch n := len(failed); {
	case n == 0:
		return true, ""
	case n == len(s.verdicts):
		return false, ""
	case n > maxNamed:
		return false, fmt.Sprintf("%d of %d fail", n, len(s.verdicts))
	default:
		return false, strings.Join(failed, " and ")
	}
}

// String is a line of the run's end.
func (s summary) String() string {
	mark, against := "FAIL", ""
	yes, failures := s.met()
	if yes {
		mark = "pass"
	}
	if failures != "" {
		failures = "; " + failures
	}
	if s.against != "" {
		against = " of " + s.against
	}
	return fmt.Sprintf("%s  %s, %s: %s %s%s (%s%s)", mark, s.who, s.kind, s.metric, s.got(), against, s.bound(), failures)
}
