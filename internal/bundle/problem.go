package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is what is wrong with a file of a bundle.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"` // 0: the whole file
	Message string `json:"message"`
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// InvalidError is everything that is wrong with a bundle, by file and line.
type InvalidError struct{ Problems []Problem }

func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, problem := range e.Problems {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// problems collects what is wrong with a bundle.
type problems []Problem

func (p *problems) add(file string, line int, format string, args ...any) {
	*p = append(*p, Problem{file, line, fmt.Sprintf(format, args...)})
}

// err returns the problems in order, or nil if there are none.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	slices.SortStableFunc(p, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return &InvalidError{p}
}
