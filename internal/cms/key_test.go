package cms_test

import (
	"strings"
	"testing"

	"galley/internal/cms"
)

func TestNewAppKeyReadsBack(t *testing.T) {
	seen := map[cms.AppKey]bool{}
	for range 1000 {
		key := cms.NewAppKey()
		if got, ok := cms.ParseAppKey(string(key)); !ok || got != key || len(key) != 52 {
			t.Fatalf("%s reads as %s, %v", key, got, ok)
		}
		if seen[key] {
			t.Fatal("the same key twice")
		}
		seen[key] = true
	}
}

// A typo is told from a real key without a look into the store, whichever
// letter it is in.
func TestEveryChangedLetterBreaksTheKey(t *testing.T) {
	key := string(cms.NewAppKey())
	for i := range key {
		for _, c := range "09AZaz_- \x00" {
			if changed := key[:i] + string(c) + key[i+1:]; changed != key {
				if _, ok := cms.ParseAppKey(changed); ok {
					t.Errorf("letter %d changed to %q, and the key is still one", i, c)
				}
			}
		}
	}
}

func TestWhatIsNoAppKey(t *testing.T) {
	key := string(cms.NewAppKey())
	for _, s := range []string{
		"", " ", key[1:], key[:len(key)-1], key + "0", key + "\n", " " + key, key + " ", `"` + key + `"`, key + "," + key,
		strings.ToUpper(key), strings.ToLower(key), strings.TrimPrefix(key, "sk_"), "pk_" + key[3:], "sk_" + strings.Repeat("0", 49),
		strings.Replace(key, "_", "\uff3f", 1), strings.Repeat(key, 1000),
	} {
		if _, ok := cms.ParseAppKey(s); ok {
			t.Errorf("%.80q is a key", s)
		}
	}
}

func TestAppKeyHintAndHash(t *testing.T) {
	key := cms.NewAppKey()
	if !strings.HasSuffix(string(key), key.Hint()) || len(key.Hint()) != 4 {
		t.Errorf("the hint of %s is %s", key, key.Hint())
	}
	if key.Hash() != cms.AppKey(string(key)).Hash() || key.Hash() == cms.NewAppKey().Hash() {
		t.Error("the hash does not stand for the key")
	}
}

func TestParseSiteKey(t *testing.T) {
	key := "f21f96f6-5579-4891-beeb-e7911593789a"
	if id, ok := cms.ParseSiteKey(key); !ok || id.String() != key {
		t.Errorf("%s is no key", key)
	}
	for _, s := range []string{
		"", strings.ToUpper(key), "{" + key + "}", "urn:uuid:" + key, strings.ReplaceAll(key, "-", ""), " " + key, key + " ", key + "\x00",
		`"` + key + `"`, cms.NoID.String(), key[:35], key[:35] + "g", key[:35] + "\uff11",
	} {
		if _, ok := cms.ParseSiteKey(s); ok {
			t.Errorf("%q is a key", s)
		}
	}
}

func TestParseID(t *testing.T) {
	id := cms.NewID()
	for _, s := range []string{id.String(), strings.ToUpper(id.String())} {
		if got, ok := cms.ParseID(s); !ok || got != id {
			t.Errorf("%s is not %s", s, id)
		}
	}
	s := id.String()
	for _, s := range []string{"", "abc", "{" + s + "}", "{" + s[:34] + "}", "urn:uuid:" + s, strings.ReplaceAll(s, "-", ""), s + " ", " " + s[:35], s[:35] + "g", strings.Repeat("-", 36), s[:8] + "0" + s[9:]} {
		if got, ok := cms.ParseID(s); ok {
			t.Errorf("%q is the id %s", s, got)
		}
	}
}

func TestNewIDsAreInOrder(t *testing.T) {
	last := cms.NoID
	for range 10_000 {
		id := cms.NewID()
		if cms.CompareIDs(last, id) >= 0 {
			t.Fatalf("%s after %s", id, last)
		}
		last = id
	}
}
