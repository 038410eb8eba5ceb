package console

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The files of other projects are what tools/console-assets.sh copied.
func TestVendoredFilesAreThoseOfTheirReleases(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"assets/htmx.min.js":                 "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",
		"assets/fonts/geist-mono.woff2":      "684ad5b531f81d43c1e8c7038262d5db7cdc1f68006e04d6c7769efa8d33c8cc",
		"assets/fonts/inter.woff2":           "3100e775e8616cd2611beecfa23a4263d7037586789b43f035236a2e6fbd4c62",
		"browsertest/testdata/axe.min.js.gz": "1468e59af22b250617538f3012b42166e5c8f808c029d51f6f4352b1096b1e3a",
	} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has the hash %x", name, sum)
		}
	}
}

var (
	expression = regexp.MustCompile(`\{[^{}]*\}`)
	betweenTag = regexp.MustCompile(`>([^<>{}]*[A-Za-z]{2}[^<>{}]*)<`)
	wordOfAttr = regexp.MustCompile(`(?:aria-label|title|placeholder|alt)="[^"]*[A-Za-z]`)
)

// Components have no words of their own: they are in words.go.
func TestWordsAreInOneFile(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".templ") {
			continue
		}
		text, err := os.ReadFile(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "//") || strings.Contains(line, "<svg") {
				continue
			}
			plain := expression.ReplaceAllString(line, "")
			if m := betweenTag.FindStringSubmatch(plain); m != nil {
				t.Errorf("%s:%d has the words %q", entry.Name(), i+1, m[1])
			}
			if wordOfAttr.MatchString(line) {
				t.Errorf("%s:%d has words in an attribute", entry.Name(), i+1)
			}
		}
	}
}
