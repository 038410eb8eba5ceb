package bundle

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
)

// plain matches text that needs no quotes and means nothing else in YAML.
var (
	plain    = regexp.MustCompile(`^[\pL/](?:[\pL\pM\pN /_.,()'!?&+=%@;*~-]|:[\pL\pN/])*$`)
	reads    = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|off|y|n)$`)
	trailing = regexp.MustCompile(` $`)
)

// scalar returns a value as YAML, in one line.
func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		if plain.MatchString(v) && !reads.MatchString(v) && !trailing.MatchString(v) {
			return v
		}
		return strconv.Quote(v) // YAML has every escape of Go
	}
	panic(fmt.Sprintf("%T is no scalar", v)) // no schema has it
}

// writeValues writes the fields in the order of their schema, those with a default value
// left out. first comes before the first field, and indent before the others.
func writeValues(b *bytes.Buffer, first, indent string, s schema, v values) {
	for _, f := range s {
		value, ok := v[f.name]
		if !ok {
			continue
		}
		b.WriteString(first + f.name + ":")
		first = indent
		list, ok := value.([]string)
		if !ok {
			b.WriteString(" " + scalar(value) + "\n")
			continue
		}
		b.WriteString("\n")
		for _, item := range list {
			b.WriteString(indent + "  - " + scalar(item) + "\n")
		}
	}
}

// listYAML returns a file that is a list of resources.
func listYAML(s schema, list []resource, ids bool) []byte {
	var b bytes.Buffer
	for _, r := range list {
		writeValues(&b, "- ", "  ", s.withID(), r.withID(ids))
	}
	if len(list) == 0 {
		b.WriteString("[]\n")
	}
	return b.Bytes()
}

// siteYAML returns site.yaml.
func siteYAML(site values) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %d\n", formatField, format)
	writeValues(&b, "", "", siteFields, site)
	return b.Bytes()
}

// pageYAML returns the file of a page.
func pageYAML(p *page, ids bool) []byte {
	var b bytes.Buffer
	writeValues(&b, "", "", pageFields.withID(), p.withID(ids))
	header := "localizations:\n"
	for _, code := range p.localeCodes() {
		own := overridesYAML(p.locales[code])
		if len(own) == 0 {
			continue // its content is a file
		}
		b.WriteString(header + "  " + code + ":\n")
		writeValues(&b, "    ", "    ", localizationFields, own)
		header = ""
	}
	return b.Bytes()
}

// overridesYAML are the values of a locale without content, which is in a file unless the
// locale has none of its own accord.
func overridesYAML(own values) values {
	listed := values{}
	for name, value := range own {
		if name != contentField || value == nil {
			listed[name] = value
		}
	}
	return listed
}
