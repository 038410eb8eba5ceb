package main

import (
	"slices"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{7}, 7},
		{[]float64{3, 1}, 2},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 100, 2}, 3},
	} {
		before := slices.Clone(c.values)
		if got := median(c.values); got != c.want {
			t.Errorf("the median of %v is %v, not %v", c.values, c.want, got)
		}
		if !slices.Equal(before, c.values) {
			t.Errorf("%v were put into another order", before)
		}
	}
}

func TestLatencyOf(t *testing.T) {
	var took []time.Duration
	for i := range 200 {
		took = append(took, time.Duration(200-i)) // 1 to 200
	}
	if got, want := latencyOf(took), (latency{101, 199}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := latencyOf([]time.Duration{5}), (latency{5, 5}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestRatiosAreOfOneRound has a round in which all were slow: ratios of
// medians would mix it with another.
func TestRatiosAreOfOneRound(t *testing.T) {
	var r results[figure]
	r = r.add(0, "get", "a", figure{Rate: 100})
	r = r.add(0, "get", "b", figure{Rate: 50})
	r = r.add(1, "get", "a", figure{Rate: 10})
	r = r.add(1, "get", "b", figure{Rate: 5})
	r = r.add(2, "get", "a", figure{Rate: 80}) // b has no figure here
	r = r.add(2, "list", "b", figure{Rate: 1})
	if got := r.ratios("get", "a", "b", figure.rate); !slices.Equal(got, []float64{2, 2}) {
		t.Errorf("got %v", got)
	}
	if got := r.values("get", "a", figure.rate); !slices.Equal(got, []float64{100, 10, 80}) {
		t.Errorf("got %v", got)
	}
	if got := r.ratios("list", "b", "get", figure.rate); got != nil {
		t.Errorf("got %v", got)
	}
	r = r.add(1, "list", "b", figure{Rate: 20})
	if got := r.ratios("list", "b", "get", figure.rate); !slices.Equal(got, []float64{4}) {
		t.Errorf("compared with another operation, got %v", got)
	}
	if got := r.values("create", "a", figure.rate); got != nil {
		t.Errorf("got %v", got)
	}
}
