package client

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	galley "galley/sdk/go"
)

// importFlags are the flags of an import.
type importFlags struct {
	Flags
	siteFlag

	File   string `arg:"" help:"CSV file, or - for the standard input. Its first line names the columns."`
	Update bool   `help:"Update what exists already, instead of refusing it."`
}

// importer says how to import a kind of resource: T is an operation of its batches.
type importer[T any] struct {
	columns map[string]bool                                               // whether a value is JSON: a number, true, false, content
	key     func(row map[string]string) string                            // what a resource is found by
	known   func(s *Session, site string) (keys map[string]bool, _ error) // the resources that exist
	send    func(s *Session, site string, operations []T) error
	locale  func(T) string // of the values that an operation writes to a page
}

func (im importer[T]) isLocalized(r row[T]) bool { return im.locale(r.operation) != "" }

// row is a line of the file.
type row[T any] struct {
	line      int
	operation T
}

// maxBatch is how many operations a batch has, and maxBatchBytes their size.
const (
	maxBatch      = 1000
	maxBatchBytes = 4 << 20
)

// run imports a file in batches. Lines that are refused are reported and left out; the
// others are imported.
func (im importer[T]) run(s *Session, f importFlags) error {
	text, err := s.readFile(f.File)
	if err != nil {
		return err
	}
	site, err := s.SiteID(f.Site)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	if f.Update {
		if known, err = im.known(s, site); err != nil {
			return err
		}
	}
	rows, bad, err := im.parse(text, known)
	if err != nil {
		return err
	}
	total := len(rows) + len(bad)
	// A locale is one of a page that exists, which an earlier line of the file may create.
	own := slices.DeleteFunc(slices.Clone(rows), im.isLocalized)
	localized := slices.DeleteFunc(rows, func(r row[T]) bool { return !im.isLocalized(r) })
	bar := s.bar("Importing", total)
	imported := 0
	for _, batch := range slices.Concat(batches(own), batches(localized)) {
		done, refused, err := im.sendBatch(s, site, batch)
		if err != nil {
			_ = bar.Exit()
			s.note("Imported %s before this error.", plural(imported, "line"))
			return err
		}
		imported += done
		maps.Copy(bad, refused)
		_ = bar.Add(len(batch))
	}
	_ = bar.Finish()
	for _, line := range slices.Sorted(maps.Keys(bad)) {
		_, _ = fmt.Fprintf(s.Err, "%s:%d: %s\n", f.File, line, bad[line])
	}
	if err := s.done(nil, "Imported %s.", plural(imported, "line")); err != nil {
		return err
	}
	if len(bad) > 0 {
		return &ExitError{ExitRefused, fmt.Sprintf("%d of %s were refused: correct them and import them again", len(bad), plural(total, "line"))}
	}
	return nil
}

// parse reads the lines of a file, and the messages of those that are wrong.
func (im importer[T]) parse(text []byte, known map[string]bool) (rows []row[T], bad map[int]string, err error) {
	reader := csv.NewReader(bytes.NewReader(text))
	header, err := reader.Read()
	if err != nil {
		return nil, nil, usage("the file has no line with the names of the columns: %s", im.names())
	}
	for _, name := range header {
		if _, ok := im.columns[name]; !ok {
			return nil, nil, usage("there is no column %q.%s The columns are %s", name, suggest(name, im.names()), strings.Join(im.names(), ", "))
		}
	}
	bad = map[int]string{}
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, bad, nil
		}
		if parse, ok := errors.AsType[*csv.ParseError](err); ok {
			bad[parse.Line] = parse.Err.Error()
			if errors.Is(err, csv.ErrFieldCount) {
				continue
			}
			return rows, bad, nil // the rest can't be told apart
		}
		if err != nil {
			return nil, nil, err
		}
		line, _ := reader.FieldPos(0)
		operation, err := im.operation(header, record, known)
		if err != nil {
			bad[line] = err.Error()
			continue
		}
		rows = append(rows, row[T]{line, operation})
	}
}

func (im importer[T]) names() []string { return slices.Sorted(maps.Keys(im.columns)) }

// operation makes an operation of a line. Empty values are left out.
func (im importer[T]) operation(header, record []string, known map[string]bool) (operation T, err error) {
	values := map[string]string{}
	fields := map[string]json.RawMessage{}
	for i, name := range header {
		value := record[i]
		if value == "" {
			continue
		}
		values[name] = value
		if !im.columns[name] {
			if fields[name], err = encodeJSON(value); err != nil {
				return operation, err
			}
		} else if fields[name] = json.RawMessage(value); !json.Valid(fields[name]) {
			return operation, fmt.Errorf("%s %q is not understood: write a number, true, false or JSON", name, value)
		}
	}
	decode := func(op string) error {
		if values["op"] == "" {
			fields["op"] = json.RawMessage(op)
		}
		text, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		return decodeStrictly(text, &operation)
	}
	if err = decode(`"create"`); err == nil && (im.locale(operation) != "" || known[im.key(values)]) {
		err = decode(`"update"`)
	}
	if err != nil {
		return operation, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return operation, nil
}

// batches splits rows into batches that the server takes.
func batches[T any](rows []row[T]) (split [][]row[T]) {
	first, size := 0, 0
	for i, r := range rows {
		text, _ := encodeJSON(r.operation) // it was made from JSON
		if i > first && (i-first == maxBatch || size+len(text) > maxBatchBytes) {
			split = append(split, rows[first:i])
			first, size = i, 0
		}
		size += len(text)
	}
	if first < len(rows) {
		split = append(split, rows[first:])
	}
	return split
}

var refusedOperation = regexp.MustCompile(`^operations\[(\d+)\]\.?(.*)$`)

// sendBatch imports a batch. If the server refuses some of its lines, the others are sent
// again without them.
func (im importer[T]) sendBatch(s *Session, site string, batch []row[T]) (done int, refused map[int]string, err error) {
	refused = map[int]string{}
	for len(batch) > 0 {
		operations := make([]T, len(batch))
		for i, r := range batch {
			operations[i] = r.operation
		}
		err := im.send(s, site, operations)
		if err == nil {
			return len(batch), refused, nil
		}
		failed, ok := errors.AsType[*galley.Error](err)
		before := len(refused)
		if ok {
			for _, d := range failed.Details {
				if m := refusedOperation.FindStringSubmatch(d.Field); m != nil {
					if n, _ := strconv.Atoi(m[1]); n < len(batch) {
						refused[batch[n].line] = strings.TrimSpace(m[2] + " " + d.Message)
					}
				}
			}
		}
		if len(refused) == before {
			return 0, refused, err
		}
		batch = slices.DeleteFunc(slices.Clone(batch), func(r row[T]) bool { return refused[r.line] != "" })
	}
	return 0, refused, nil
}

type pagesImportCommand struct{ importFlags }

func (c *pagesImportCommand) Run(s *Session) error {
	return importer[galley.PageOperation]{
		locale: func(o galley.PageOperation) string { return o.Locale },
		columns: map[string]bool{
			"op": false, "pageId": false, "locale": false, "pathname": false, "name": false, "title": false, "description": false,
			"canonicalUrl": false, "socialImageUrl": false, "sitemapPriority": true, "sitemapFrequency": false, "isOnline": true,
			"excludedFromSearchEngines": true, "content": true,
		},
		key: func(row map[string]string) string { return "/" + strings.Trim(row["pathname"], "/") },
		known: func(s *Session, site string) (map[string]bool, error) {
			keys := map[string]bool{}
			for page, err := range s.Client.Pages.All(s.ctx(), galley.PageQuery{SiteID: site, IncludeOffline: true}) {
				if err != nil {
					return nil, err
				}
				keys[page.Pathname] = true
			}
			return keys, nil
		},
		send: func(s *Session, site string, operations []galley.PageOperation) error {
			_, err := s.Client.Pages.Batch(s.ctx(), galley.PageBatch{SiteID: site, Operations: operations})
			return err
		},
	}.run(s, c.importFlags)
}

type redirectsImportCommand struct{ importFlags }

func (c *redirectsImportCommand) Run(s *Session) error {
	return importer[galley.RedirectOperation]{
		locale:  func(galley.RedirectOperation) string { return "" }, // it is a field like others
		columns: map[string]bool{"op": false, "redirectId": false, "source": false, "target": false, "status": true, "locale": false},
		key:     func(row map[string]string) string { return row["locale"] + " " + row["source"] },
		known: func(s *Session, site string) (map[string]bool, error) {
			keys := map[string]bool{}
			for redirect, err := range s.Client.Redirects.All(s.ctx(), galley.RedirectQuery{SiteID: site}) {
				if err != nil {
					return nil, err
				}
				locale := ""
				if redirect.Locale != nil {
					locale = *redirect.Locale
				}
				keys[locale+" "+redirect.Source] = true
			}
			return keys, nil
		},
		send: func(s *Session, site string, operations []galley.RedirectOperation) error {
			_, err := s.Client.Redirects.Batch(s.ctx(), galley.RedirectBatch{SiteID: site, Operations: operations})
			return err
		},
	}.run(s, c.importFlags)
}
