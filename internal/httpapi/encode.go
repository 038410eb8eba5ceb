package httpapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"galley/internal/cms"
)

// encode turns a wire type into a line of JSON. Wire types always encode.
func encode(body any) []byte {
	text, _ := scratch.Get().(*[]byte)
	*text = append(appendJSON((*text)[:0], body), '\n')
	line := slices.Clone(*text)
	if cap(*text) <= maxScratch {
		scratch.Put(text)
	}
	return line
}

// joinList is encode for a List of items that are encoded already.
func joinList(items []string, hasMore bool) []byte {
	const head, tail = `{"object":"list","data":[`, `],"hasMore":`
	size := len(head) + len(tail) + len("false}\n") + len(items)
	for _, item := range items {
		size += len(item)
	}
	b := append(make([]byte, 0, size), head...)
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	b = appendBool(b, tail, &hasMore)
	return append(b, "}\n"...)
}

// scratch is where answers are written before their length is known.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch bounds what is kept for the next answer.
const maxScratch = 64 << 10

// appendJSON writes pages by hand, which takes two thirds of the time: a list
// has many, and every write of one is shown twice or thrice, in its answer and
// in the audit trail. Methods would do the same, and whatever embeds a page or
// a list would have them, too.
func appendJSON(b []byte, value any) []byte {
	switch v := value.(type) {
	case Page:
		return appendPage(b, &v)
	case Batch:
		b = appendText(b, `{"object":`, v.Object)
		b = appendItems(append(b, `,"results":`...), v.Results, func(b []byte, r *PageResult) []byte { return appendJSON(b, r.any) })
		return append(b, '}')
	}
	into := bytes.NewBuffer(b)
	enc := json.NewEncoder(into)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(into.Bytes(), []byte("\n"))
}

func appendPage(b []byte, p *Page) []byte {
	b = appendText(b, `{"object":`, p.Object)
	b = appendID(b, `,"id":`, p.ID)
	b = appendID(b, `,"siteId":`, p.SiteID)
	b = appendText(b, `,"name":`, p.Name)
	b = appendText(b, `,"pathname":`, p.Pathname)
	b = appendNullText(b, `,"canonicalUrl":`, p.CanonicalURL)
	b = appendNullText(b, `,"title":`, p.Title)
	b = appendNullText(b, `,"description":`, p.Description)
	b = appendNullText(b, `,"socialImageUrl":`, p.SocialImageURL)
	b = appendNumber(b, `,"sitemapPriority":`, p.SitemapPriority)
	b = appendNullText(b, `,"sitemapFrequency":`, p.SitemapFrequency)
	b = appendText(b, `,"createdAt":`, p.CreatedAt)
	b = appendText(b, `,"updatedAt":`, p.UpdatedAt)
	b = appendNullText(b, `,"publishedAt":`, p.PublishedAt)
	b = appendBool(b, `,"isOnline":`, &p.IsOnline)
	b = appendBool(b, `,"excludedFromSearchEngines":`, p.ExcludedFromSearchEngines)
	b = appendItems(append(b, `,"localizations":`...), p.Localizations, appendLocalization)
	b = appendText(b, `,"locale":`, p.Locale)
	return append(b, '}')
}

func appendLocalization(b []byte, l *PageLocalization) []byte {
	b = appendText(b, `{"pathname":`, l.Pathname)
	b = appendText(b, `,"locale":`, l.Locale)
	b = appendID(b, `,"id":`, l.ID)
	return append(b, '}')
}

func appendItems[T any](b []byte, items []T, appendItem func([]byte, *T) []byte) []byte {
	b = append(b, '[')
	for i := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendItem(b, &items[i])
	}
	return append(b, ']')
}

// These append a field, its name with all that stands before the value.

func appendText[T ~string](b []byte, name string, value T) []byte {
	return appendQuoted(append(b, name...), string(value))
}

func appendNullText[T ~string](b []byte, name string, value *T) []byte {
	if value == nil {
		return append(append(b, name...), "null"...)
	}
	return appendText(b, name, *value)
}

func appendID(b []byte, name string, id cms.ID) []byte {
	b = append(append(append(b, name...), '"'), id.String()...)
	return append(b, '"')
}

func appendNumber(b []byte, name string, value *float64) []byte {
	b = append(b, name...)
	switch {
	case value == nil:
		return append(b, "null"...)
	case *value == 0 || *value >= 1e-6 && *value < 1e21:
		return strconv.AppendFloat(b, *value, 'f', -1, 64)
	}
	return appendJSON(b, *value)
}

func appendBool(b []byte, name string, value *bool) []byte {
	b = append(b, name...)
	switch {
	case value == nil:
		return append(b, "null"...)
	case *value:
		return append(b, "true"...)
	}
	return append(b, "false"...)
}

// appendQuoted escapes what the standard library escapes, line separators and
// what is no UTF-8 among it.
func appendQuoted(b []byte, text string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	done := 0 // this much of the text is written
	for i := 0; i < len(text); {
		if c := text[i]; c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		c, size := utf8.DecodeRuneInString(text[i:])
		if c >= utf8.RuneSelf && c != '\u2028' && c != '\u2029' && (c != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		b = append(b, text[done:i]...)
		if short := strings.IndexRune("\"\\\b\f\n\r\t", c); short >= 0 {
			b = append(b, '\\', `"\bfnrt`[short])
		} else {
			b = append(b, '\\', 'u', hex[c>>12&15], hex[c>>8&15], hex[c>>4&15], hex[c&15])
		}
		i += size
		done = i
	}
	return append(append(b, text[done:]...), '"')
}
