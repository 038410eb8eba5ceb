package main

import (
	"fmt"
	"html"
	"strings"
)

// The chart's measures, in pixels.
const (
	chartWidth  = 760
	chartMargin = 20
	nameWidth   = 220
	valueWidth  = 90
	barWidth    = chartWidth - 2*chartMargin - nameWidth - valueWidth
	barHeight   = 14
	rowHeight   = 21
	groupHeight = 40 // of its title
	headHeight  = 62
)

// chartStyle follows the reader's colour scheme; colours also differ in lightness.
const chartStyle = `
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 16px; font-weight: 600; }
.group { font-weight: 600; }
.note { fill: #59636e; }
.paper { fill: #ffffff; }
.galley { fill: #0b6bcb; }
.peer { fill: #d97706; }
.limit { fill: #a9b4c0; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .note { fill: #9198a1; }
  .paper { fill: #0d1117; }
  .galley { fill: #58a6ff; }
  .peer { fill: #f0a13a; }
  .limit { fill: #57606a; }
}
`

// bar is a contestant in one operation.
type bar struct {
	who  string
	rate float64
}

// classes are the contestants' classes in the style.
var classes = map[string]string{
	onSQLite: "galley", onPostgres: "galley", sqliteUncached: "galley", postgresUncached: "galley", peer: "peer", bareLimit: "limit",
}

// chart draws the rates of one operation of each action.
func (c *comparison) chart() string {
	var b strings.Builder
	y := headHeight
	drawn := map[action]bool{}
	for _, op := range operations {
		bars := c.bars(op)
		if len(bars) == 0 || drawn[op.action] {
			continue
		}
		drawn[op.action] = true
		y = drawGroup(&b, y, op, bars)
	}
	height := y + chartMargin
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="Requests a second of each contestant">
<style>%[3]s</style>
<rect class="paper" width="%[1]d" height="%[2]d"/>
<text class="title" x="%[4]d" y="32">Requests a second: longer is better</text>
<text class="note" x="%[4]d" y="52">Each operation has a scale of its own. Grey bars are limits that do far less.</text>
`, chartWidth, height, chartStyle, chartMargin)
	return head + b.String() + "</svg>\n"
}

func (c *comparison) bars(op operation) (bars []bar) {
	for _, who := range allContestants {
		if rates := c.Rounds.values(op.name, who, figure.rate); len(rates) > 0 {
			bars = append(bars, bar{who, median(rates)})
		}
	}
	return bars
}

// drawGroup draws the bars of an operation and returns where they end.
func drawGroup(b *strings.Builder, y int, op operation, bars []bar) int {
	title := op.name
	if op.action == batch {
		title += ", in pages"
	}
	fmt.Fprintf(b, "<text class=\"group\" x=\"%d\" y=\"%d\">%s</text>\n", chartMargin, y+groupHeight-14, html.EscapeString(title))
	y += groupHeight
	longest := 0.0
	for _, bar := range bars {
		longest = max(longest, bar.rate)
	}
	left := chartMargin + nameWidth
	for _, bar := range bars {
		width := max(1, bar.rate/longest*barWidth)
		middle := y + barHeight - 2
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\">%s</text>\n", chartMargin, middle, html.EscapeString(bar.who))
		fmt.Fprintf(b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n", classes[bar.who], left, y, width, barHeight)
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\">%s</text>\n", float64(left)+width+8, middle, rateText(bar.rate))
		y += rowHeight
	}
	return y
}
