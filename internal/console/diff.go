package console

import (
	"slices"
	"strings"
	"unicode"
)

// span is a part of a text that two versions share, or that one of them has.
type span struct {
	kind spanKind
	text string
}

type spanKind int

const (
	same spanKind = iota
	removed
	added
)

// maxDiffWords bounds the work of a difference, which grows with the square.
const maxDiffWords = 600

// diffWords tells two texts apart word by word.
func diffWords(from, to string) []span {
	a, b := words(from), words(to)
	if len(a) > maxDiffWords || len(b) > maxDiffWords {
		return compact([]span{{removed, from}, {added, to}})
	}
	// common[i][j] is how many words a[i:] and b[j:] share, in order.
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var spans []span
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			spans = append(spans, span{same, a[i]})
			i, j = i+1, j+1
		case j == len(b) || (i < len(a) && common[i+1][j] >= common[i][j+1]):
			spans = append(spans, span{removed, a[i]})
			i++
		default:
			spans = append(spans, span{added, b[j]})
			j++
		}
	}
	return compact(spans)
}

// words cuts a text into words and what is between them.
func words(text string) []string {
	var parts []string
	var word []rune
	kind := -1
	for _, r := range text {
		k := 2 // punctuation stands alone
		switch {
		case unicode.IsSpace(r):
			k = 0
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			k = 1
		}
		if len(word) > 0 && (k != kind || k == 2) {
			parts, word = append(parts, string(word)), nil
		}
		word, kind = append(word, r), k
	}
	if len(word) > 0 {
		parts = append(parts, string(word))
	}
	return parts
}

// compact joins neighbours of one kind, with removals before additions, and white space
// between two changes with them.
func compact(spans []span) []span {
	var out []span
	for i := 0; i < len(spans); {
		if spans[i].kind == same {
			out = extend(out, spans[i])
			i++
			continue
		}
		var gone, come strings.Builder
		for ; i < len(spans); i++ {
			s := spans[i]
			isGap := s.kind == same && isBlank(s.text) && i+1 < len(spans) && spans[i+1].kind != same
			if s.kind == same && !isGap {
				break
			}
			if s.kind != added {
				gone.WriteString(s.text)
			}
			if s.kind != removed {
				come.WriteString(s.text)
			}
		}
		out = extend(extend(out, span{removed, gone.String()}), span{added, come.String()})
	}
	return out
}

func isBlank(text string) bool {
	return !slices.ContainsFunc([]rune(text), func(r rune) bool { return !unicode.IsSpace(r) })
}

func extend(spans []span, s span) []span {
	if s.text == "" {
		return spans
	}
	if n := len(spans); n > 0 && spans[n-1].kind == s.kind {
		spans[n-1].text += s.text
		return spans
	}
	return append(spans, s)
}
