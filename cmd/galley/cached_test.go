package main_test

import (
	"bytes"
	"io"
	"testing"

	"galley/internal/cli"
)

// The tests run a program that TestMain builds, which the tool knows nothing
// of: it would repeat a cached result for a changed program. Using the program
// from here as well makes it part of what the result depends on.
func TestProgramIsOfTheseSources(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if code := cli.Run(t.Context(), []string{"openapi"}, &out, io.Discard); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if out.String() != mustRun(t, nil, "openapi") {
		t.Error("the program that is tested is not of these sources")
	}
}
