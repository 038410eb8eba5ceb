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
		var part cms.Problems
		part.Add("title", "x")
		part.Add("pathname", "x")
		p.Nest(fmt.Sprintf("operations[%d].", i), part)
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

func TestMergeTakesBadRequestsAlone(t *testing.T) {
	var p cms.Problems
	if err := p.Merge("a.", cms.BadField("b", "x")); err != nil || !p.Has("a.b") {
		t.Errorf("%v, %v", err, p)
	}
	if err := p.Merge("a.", cms.ErrPathnameTaken); !errors.Is(err, cms.ErrPathnameTaken) {
		t.Errorf("a conflict became %v", err)
	}
	if err := p.Merge("a.", nil); err != nil {
		t.Error(err)
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
