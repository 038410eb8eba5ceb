package cms_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/internal/cms"
)

func details(t *testing.T, err error) []cms.Detail {
	t.Helper()
	e, ok := errors.AsType[*cms.Error](err)
	if !ok || e.Code != cms.CodeBadRequest {
		t.Fatalf("%v is no bad request", err)
	}
	return e.Details
}

func TestNoProblemsAreNoError(t *testing.T) {
	var p cms.Problems
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}

func TestProblemsAreToldByFieldAndOnce(t *testing.T) {
	var p cms.Problems
	p.Add("title", "first")
	p.Add("isOnline", "x")
	p.Add("title", "second")
	want := []cms.Detail{{Field: "isOnline", Message: "x"}, {Field: "title", Message: "first"}}
	if diff := cmp.Diff(want, details(t, p.Err())); diff != "" {
		t.Error(diff)
	}
}

func TestProblemsOfPartsAreInTheOrderOfTheParts(t *testing.T) {
	var p cms.Problems
	for _, i := range []int{10, 2, 1} {
		part := p.In(fmt.Sprintf("operations[%d].", i))
		part.Add("title", "x")
		part.Add("pathname", "x")
		if !part.Has("title") || part.Has("name") || !p.Has(fmt.Sprintf("operations[%d].title", i)) {
			t.Errorf("the problems of part %d are not those of the whole", i)
		}
	}
	var fields []string
	for _, d := range details(t, p.Err()) {
		fields = append(fields, d.Field)
	}
	want := []string{
		"operations[1].pathname", "operations[1].title", "operations[2].pathname", "operations[2].title",
		"operations[10].pathname", "operations[10].title",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
}

// An error names the first fields in their order, whatever the order in which
// problems were found, and counts the rest.
func TestDetailsAreBounded(t *testing.T) {
	const found = 523
	var p cms.Problems
	for i := range found {
		p.Add(fmt.Sprintf("operations[%d].title", (i*7)%found), "x")
		p.Add(fmt.Sprintf("operations[%d].title", (i*7)%found), "again")
	}
	var want []cms.Detail
	for i := range cms.MaxDetails {
		want = append(want, cms.Detail{Field: fmt.Sprintf("operations[%d].title", i), Message: "x"})
	}
	got := details(t, p.Err())
	if diff := cmp.Diff(want, got[:cms.MaxDetails]); diff != "" {
		t.Error(diff)
	}
	last := got[len(got)-1]
	if len(got) != cms.MaxDetails+1 || last.Field != "body" || !strings.HasSuffix(last.Message, "more problems") {
		t.Errorf("%d details, the last is %v", len(got), last)
	}
}

func TestTheRestOfTheProblemsIsCounted(t *testing.T) {
	var p cms.Problems
	for i := range cms.MaxDetails + 1 {
		p.Add(fmt.Sprintf("f%03d", i), "x")
	}
	if got := details(t, p.Err()); got[len(got)-1].Message != "and 1 more problem" {
		t.Error(got[len(got)-1])
	}
	p.Add("f101", "x")
	copied := p.Clone()
	copied.Add("f102", "x")
	if got := details(t, p.Err()); got[len(got)-1].Message != "and 2 more problems" {
		t.Error(got[len(got)-1])
	}
}

func TestFieldsAreShortened(t *testing.T) {
	var p cms.Problems
	p.Add(strings.Repeat("ä", 1000), "x")
	if got := details(t, p.Err())[0].Field; len(got) > 110 || !p.Has(strings.Repeat("ä", 1000)) {
		t.Errorf("%q", got)
	}
}

// One request can hold a hundred thousand unknown fields; finding fault with
// them must not take longer than reading them.
func TestManyProblemsAreGatheredFast(t *testing.T) {
	var took time.Duration
	for range 10 { // a machine may stop for a while, but not each time
		begin := time.Now()
		var p cms.Problems
		for i := range 100_000 {
			p.Add(fmt.Sprintf("%05x", i), "is not a known field")
		}
		if p.Err() == nil {
			t.Fatal("nothing was gathered")
		}
		if took = time.Since(begin); took < 3*time.Second {
			return
		}
	}
	t.Errorf("took %v", took)
}

func TestNotFoundNamesTheKind(t *testing.T) {
	if e := cms.NotFound(cms.KindPage); e.Message != "Page not found" || e.Code != cms.CodeNotFound {
		t.Errorf("%+v", e)
	}
}

func TestTheCauseIsForTheLogAlone(t *testing.T) {
	cause := errors.New("dial tcp: secret")
	e := cms.Unavailable(cause)
	if !errors.Is(e, cause) || strings.Contains(e.Message, "secret") || !strings.Contains(e.Error(), "secret") {
		t.Errorf("%v", e)
	}
	if cms.CodeOf(fmt.Errorf("wrapped: %w", e)) != cms.CodeUnavailable || cms.CodeOf(cause) != "" {
		t.Error("CodeOf does not see through a wrapping error")
	}
}

func TestOpt(t *testing.T) {
	var absent cms.Opt[*string]
	null := cms.Some[*string](nil)
	given := cms.Some(new("b"))
	for name, c := range map[string]struct {
		opt  cms.Opt[*string]
		want *string
	}{"absent": {absent, new("a")}, "null": {null, nil}, "given": {given, new("b")}} {
		value := new("a")
		or := c.opt.Or(value)
		c.opt.ApplyTo(&value)
		if !cmp.Equal(value, c.want) || !cmp.Equal(or, c.want) {
			t.Errorf("%s leaves %v, or else %v", name, value, or)
		}
	}
}
