package main

import "slices"

// results are the figures of every round, by operation and contestant.
type results[F any] []map[string]map[string]F

func (r results[F]) add(round int, operation, who string, f F) results[F] {
	for len(r) <= round {
		r = append(r, map[string]map[string]F{})
	}
	if r[round][operation] == nil {
		r[round][operation] = map[string]F{}
	}
	r[round][operation][who] = f
	return r
}

// values are those of every round that has a figure.
func (r results[F]) values(operation, who string, of func(F) float64) (values []float64) {
	for _, round := range r {
		if f, ok := round[operation][who]; ok {
			values = append(values, of(f))
		}
	}
	return values
}

// ratios compare with another contestant, or with another operation of the same
// one. Each is of one round, so that what slowed one round slowed both.
func (r results[F]) ratios(operation, who, against string, of func(F) float64) (values []float64) {
	for _, round := range r {
		f, ok := round[operation][who]
		other, also := round[operation][against]
		if !also {
			other, also = round[against][who]
		}
		if ok && also {
			values = append(values, of(f)/of(other))
		}
	}
	return values
}

// median is the middle one of some values, of which there is at least one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
