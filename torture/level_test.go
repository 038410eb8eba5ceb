package main

import "testing"

func TestJudgeOfLevels(t *testing.T) {
	t.Parallel()
	rising := func(from, to float64) (seen []float64) {
		const n = 40
		for i := range n {
			seen = append(seen, from+(to-from)*float64(i)/n)
		}
		return seen
	}
	for name, c := range map[string]struct {
		seen []float64
		pass bool
	}{
		"level":                     {rising(100, 100), true},
		"falling":                   {rising(200, 100), true},
		"rising":                    {rising(100, 200), false},
		"filled in the first part":  {append(rising(0, 100)[:10], rising(100, 100)[:30]...), true},
		"a peak now and then":       {append(rising(100, 100)[:38], 900, 900), true},
		"within a tenth and slack":  {append(rising(100, 100)[:20], rising(114, 114)[:20]...), true},
		"beyond a tenth and slack":  {append(rising(100, 100)[:20], rising(116, 116)[:20]...), false},
		"read too seldom to say it": {[]float64{1, 1}, false},
	} {
		trial := newTrial(t.Context(), "level", t.TempDir(), "", false, 1)
		(&gauge{name: "things", slack: 5, seen: c.seen}).judge(trial)
		if pass := len(trial.problems) == 0; pass != c.pass {
			t.Errorf("%s: pass %t, want %t: %v", name, pass, c.pass, trial.problems)
		}
	}
}
