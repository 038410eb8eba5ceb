package main

import (
	"fmt"
	"slices"
	"strings"
)

// summary is what became of targets that differ in nothing but their
// operations.
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

// got is the range of what was found.
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

// met tells whether all targets were met, and which were not, if others were.
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
