package cms_test

import (
	"encoding/json"
	"testing"

	"galley/internal/cms"
)

func TestDigestIsTheHashOfTheValue(t *testing.T) {
	c := cms.NewContent([]byte(`{}`))
	const want = "sha256-44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	if c.Digest.String() != want || string(c.Value) != `{}` {
		t.Errorf("%s of %s", c.Digest, c.Value)
	}
	text, err := json.Marshal(cms.FieldChange{Field: "content", To: c.Digest})
	if err != nil || string(text) != `{"Field":"content","From":null,"To":"`+want+`"}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestOwnContent(t *testing.T) {
	one, two := cms.NewContent([]byte(`[1]`)), cms.NewContent([]byte(`[2]`))
	fr, de, es := cms.NewID(), cms.NewID(), cms.NewID()
	page := cms.PagePatch{Content: cms.Some(&one)}.Apply(cms.Page{}, cms.NoID)
	page = cms.PagePatch{Content: cms.Some(&two)}.Apply(page, fr)
	page = cms.PagePatch{Title: cms.Some(new("de"))}.Apply(page, de)
	// A locale may own that it has none.
	page.Localizations[es] = cms.Localization{Own: cms.FieldContent}
	for _, c := range []struct {
		name   string
		locale cms.ID
		want   *cms.Digest
		owned  bool
	}{
		{"default", cms.NoID, &one.Digest, true}, {"own", fr, &two.Digest, true}, {"inherited", de, nil, false},
		{"not localized", cms.NewID(), nil, false}, {"own null", es, nil, true},
	} {
		got, owned := page.OwnContent(c.locale)
		if owned != c.owned || (got == nil) != (c.want == nil) || (got != nil && *got != *c.want) {
			t.Errorf("%s: %v, %v", c.name, got, owned)
		}
	}
	if _, owned := (cms.Page{}).OwnContent(cms.NoID); owned {
		t.Error("a page without content has some")
	}
	inherited := page.In(de).Values.Content
	if inherited == nil || *inherited != one.Digest {
		t.Errorf("inherited is %v", inherited)
	}
}
