package client

import (
	"strings"

	"github.com/rivo/uniseg"
)

// layOut returns rows as aligned columns. If they are wider than the terminal, the widest
// columns are cut; 0 is no terminal, and nothing is cut.
func layOut(rows [][]string, width int) string {
	widths := columnWidths(rows)
	if width > 0 {
		shrink(widths, width)
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, text := range row {
			text = cut(text, widths[i])
			line.WriteString(text)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-uniseg.StringWidth(text)+len(gap)))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// gap is between columns.
const gap = "  "

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

// leastWidth is what a column is not cut below: the line wraps then.
const leastWidth = 6

// idWidth is the width of an id, which is useless when cut.
const idWidth = 36

// shrink takes from the widest columns until a line fits. Columns that are as wide as an id
// are taken from last.
func shrink(widths []int, width int) {
	total := len(gap) * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for _, ids := range []bool{false, true} {
		for ; total > width; total-- {
			widest := -1
			for i, w := range widths {
				if w > leastWidth && (ids || w != idWidth) && (widest < 0 || w > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
			if !ids && widths[widest] == idWidth { // it must not be taken for one
				widths[widest]--
				total--
			}
		}
	}
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
