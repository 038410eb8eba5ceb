package client

import (
	"regexp"
	"strings"

	"github.com/rivo/uniseg"
)

// layOut returns rows as aligned columns, the first row being their headings. If they are
// wider than the terminal, texts are cut, and if that is not enough the last columns are
// left out. Width 0 is no terminal: nothing is cut.
func layOut(rows [][]string, width int) string {
	widths := columnWidths(rows)
	if width > 0 {
		widths = fit(widths, wholeColumns(rows), width)
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, w := range widths {
			text := cut(row[i], w)
			line.WriteString(text)
			line.WriteString(strings.Repeat(" ", w-uniseg.StringWidth(text)+gap))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// gap is how far columns are apart.
const gap = 2

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, text := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(text))
		}
	}
	return widths
}

var timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d`)

// wholeColumns reports which columns have ids or times, which are useless when cut.
func wholeColumns(rows [][]string) []bool {
	whole := make([]bool, len(rows[0]))
	for i := range whole {
		for _, row := range rows[1:] {
			whole[i] = whole[i] || idForm.MatchString(row[i]) || timeForm.MatchString(row[i])
		}
	}
	return whole
}

// leastWidth is what a text is not cut below.
const leastWidth = 10

// fit takes from the widest texts until a line fits, and leaves out columns at the end while
// it can't.
func fit(widths []int, whole []bool, width int) []int {
	total := func() int {
		sum := gap * (len(widths) - 1)
		for _, w := range widths {
			sum += w
		}
		return sum
	}
	for total() > width {
		widest := -1
		for i, w := range widths {
			if !whole[i] && w > leastWidth && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		switch {
		case widest >= 0:
			widths[widest]--
		case len(widths) > 1:
			widths = widths[:len(widths)-1]
		default:
			return widths
		}
	}
	return widths
}

// cut shortens a text to a width.
func cut(text string, width int) string {
	if uniseg.StringWidth(text) <= width {
		return text
	}
	var b strings.Builder
	used, state := 0, -1
	for text != "" {
		cluster, rest, w, next := uniseg.FirstGraphemeClusterInString(text, state)
		if used+w > width-1 {
			break
		}
		b.WriteString(cluster)
		used, text, state = used+w, rest, next
	}
	return b.String() + "…"
}
