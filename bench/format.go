package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// digits writes a number with three digits that matter, and no more.
func digits(value float64) string {
	if value <= 0 {
		return "0"
	}
	decimals := 2 - int(math.Floor(math.Log10(value)))
	if rounded := math.Pow10(-decimals); math.Round(value/rounded) >= 1000 {
		decimals-- // 9.999 is 10.0
	}
	if decimals >= 0 {
		return strconv.FormatFloat(value, 'f', decimals, 64)
	}
	unit := math.Pow10(-decimals)
	return count(int(math.Round(value/unit) * unit))
}

// count writes a whole number with its thousands set apart.
func count(n int) string {
	text := strconv.Itoa(n)
	var b strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

func rateText(value float64) string { return digits(value) + "/s" }

func ratioText(value float64) string { return digits(value) + " x" }

func bytesText(n int64) string { return digits(float64(n)/1e6) + " MB" }

func durationText(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < 999_500*time.Nanosecond: // the rest is rounded up
		return digits(float64(d)/1e3) + " µs"
	case d < 999_500*time.Microsecond:
		return digits(float64(d)/1e6) + " ms"
	}
	return digits(d.Seconds()) + " s"
}

func progressText(done, total int, rate float64) string {
	left := time.Duration(float64(total-done) / rate * float64(time.Second))
	return fmt.Sprintf("%s of %s pages, %s, %s to go", count(done), count(total), rateText(rate), left.Round(time.Second))
}

// table is a table of Markdown. All columns but the leading ones of words hold
// numbers.
type table struct {
	words  int
	header []string
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) String() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.header)
	for i := range t.header {
		if i < t.words {
			b.WriteString("|---")
		} else {
			b.WriteString("|---:")
		}
	}
	b.WriteString("|\n")
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}
