package httpapi_test

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var mutants = flag.Int("mutants", 2000, "how many changed inputs TestMutants tries on each target")

// TestMutants tries seeds of the fuzz targets with a few random changes each.
// It finds less than the fuzzer, which follows coverage, but many times faster:
// 'make mutants' tries a million on each.
func TestMutants(t *testing.T) {
	for name, target := range map[string]struct {
		seeds []seed
		try   func(*fuzzed, *testing.T, uint8, string)
	}{
		"query":  {querySeeds(), (*fuzzed).tryQuery},
		"cursor": {cursorSeeds(), (*fuzzed).tryCursor},
		"path":   {pathSeeds(), (*fuzzed).tryPath},
		"body":   {bodySeeds(), (*fuzzed).tryBody},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z := newFuzzed(t)
			random := rand.New(rand.NewPCG(1, uint64(*mutants)))
			for range *mutants {
				s := target.seeds[random.IntN(len(target.seeds))]
				text := mutate(random, s.text, target.seeds[random.IntN(len(target.seeds))].text)
				target.try(z, t, uint8(random.IntN(256)), text)
				if t.Failed() {
					t.Fatalf("the input was %q", text)
				}
			}
		})
	}
}

// odd are pieces that parsers trip over.
var odd = []string{
	"\x00", "\xff", "\xc0\xaf", "%", "%00", "%2F", "%zz", "..", "/", "//", "\\", "\"", "'", "{", "}", "[", "]", ",", ":", ";", "&", "=", "null", "true", "-1",
	"1e309", "é", "e\u0301", "\u202e", "\u200b", "\U0010FFFF", `\ud800`, "{site}", "{about}", "{fr}", " ", "\t", "\r\n", "99999999999999999999",
}

// mutate makes a few random changes to a text; other is what it may be crossed
// with.
func mutate(random *rand.Rand, text, other string) string {
	for range 1 + random.IntN(4) {
		at := random.IntN(len(text) + 1)
		switch random.IntN(5) {
		case 0:
			text = text[:at] + odd[random.IntN(len(odd))] + text[at:]
		case 1:
			text = text[:at] + string([]byte{byte(random.IntN(256))}) + text[at:]
		case 2:
			end := at + random.IntN(len(text)-at+1)
			text = text[:at] + text[end:]
		case 3:
			text = text[:at] + other[random.IntN(len(other)+1):]
		case 4:
			text = text[:at] + text[:at] + text[at:]
		}
		text = text[:min(len(text), 2000)]
	}
	return text
}
