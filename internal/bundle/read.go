package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml/ast"
	"golang.org/x/text/unicode/norm"
)

// reader reads a bundle and collects all that is wrong with it.
type reader struct {
	fsys     fs.FS
	problems problems
	state    state
	stems    map[string]*page // by the name of their files
}

// read reads the bundle in a folder.
func read(dir string) (*state, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	r := reader{fsys: root.FS(), state: state{contents: map[string]string{}}, stems: map[string]*page{}}
	r.readSite()
	if len(r.problems) > 0 {
		return nil, r.problems.err() // the rest depends on it
	}
	r.state.locales = r.readList(localesFile, localeFields, "locale")
	r.state.routes = r.readList(routesFile, routeFields, "route")
	r.state.redirects = r.readList(redirectsFile, redirectFields, "redirect")
	r.walk(pagesDir, pageEnding, r.readPage)
	r.walk(contentDir, contentEnding, r.readContent)
	r.state.sort()
	check(&r.state, &r.problems)
	return &r.state, r.problems.err()
}

// load reads a file that every bundle has.
func (r *reader) load(name string) (content []byte, ok bool) {
	content, err := fs.ReadFile(r.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		r.problems.add(name, 0, "is missing: galley export writes it")
		return nil, false
	}
	if err != nil {
		r.problems.add(name, 0, "can't be read: %v", err)
	}
	return content, err == nil
}

func (r *reader) readSite() {
	content, ok := r.load(siteFile)
	if !ok {
		return
	}
	f := parsed{siteFile, &r.problems}
	body := f.parse(content)
	if body == nil {
		return
	}
	where := source{lines: map[string]int{}}
	site := f.fields(body, siteFields, "a site", "", &where, func(e entry) bool {
		if e.key != formatField {
			return false
		}
		if version, _ := f.convert(e.value); version != float64(format) {
			r.problems.add(siteFile, e.line, "%s must be %d, the format that this program reads", formatField, format)
		}
		return true
	})
	if _, ok := where.lines[formatField]; !ok {
		r.problems.add(siteFile, 1, "%s is required, such as %s: %d", formatField, formatField, format)
	}
	r.state.site = siteFields.keep(site)
}

// readList reads a file that is a list of resources.
func (r *reader) readList(name string, s schema, what string) []resource {
	content, ok := r.load(name)
	if !ok {
		return nil
	}
	f := parsed{name, &r.problems}
	body := f.parse(content)
	if body == nil {
		return nil
	}
	var resources []resource
	for _, item := range f.items(body, what+"s") {
		where := source{file: name, line: lineOf(item), lines: map[string]int{}}
		all := f.fields(item, s.withID(), "a "+what, "", &where, nil)
		resources = append(resources, resource{id: all.text(idField), values: s.keep(all), where: where})
	}
	return resources
}

// walk reads the files of a folder in the order of their names.
func (r *reader) walk(dir, ending string, readFile func(name string, content []byte)) {
	err := fs.WalkDir(r.fsys, dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == dir:
			return fs.SkipAll
		case err != nil:
			return err
		case entry.IsDir() && name != dir && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case ending == pageEnding && path.Ext(name) == ".yml":
			r.problems.add(name, 0, "must be named %s", strings.TrimSuffix(name, ".yml")+pageEnding)
			return nil
		case path.Ext(name) != ending || strings.HasPrefix(entry.Name(), "."):
			return nil
		}
		content, err := fs.ReadFile(r.fsys, name)
		if err == nil {
			readFile(name, content)
		}
		return err
	})
	if err != nil {
		r.problems.add(dir, 0, "can't be read: %v", err)
	}
}

// stemOf is the name of a file without folder and ending. Some file systems decompose
// letters.
func stemOf(name, dir, ending string) string {
	return norm.NFC.String(strings.TrimSuffix(strings.TrimPrefix(name, dir+"/"), ending))
}

func (r *reader) readPage(name string, content []byte) {
	p := &page{locales: map[string]values{}}
	r.stems[stemOf(name, pagesDir, pageEnding)] = p
	f := parsed{name, &r.problems}
	body := f.parse(content)
	if body == nil {
		return
	}
	where := source{file: name, line: lineOf(body), lines: map[string]int{}}
	all := f.fields(body, pageFields.withID(), "a page", "", &where, func(e entry) bool {
		switch e.key {
		case movedFromField:
			p.movedFrom, _ = r.movedFrom(f, e)
		case localizationsField:
			for _, locale := range f.entries(e.value, localizationsField) {
				r.readLocalization(f, p, locale, &where)
			}
		default:
			return false
		}
		return true
	})
	p.resource = resource{id: all.text(idField), values: pageFields.keep(all), where: where}
	if p.text(nameField) == p.derivedName() {
		delete(p.values, nameField)
	}
	r.state.pages = append(r.state.pages, p)
}

func (r *reader) movedFrom(f parsed, e entry) (string, bool) {
	pathname, _ := pageFields.find(pathnameField)
	value, ok := f.value(e, pathname)
	s, _ := value.(string)
	return s, ok
}

func (r *reader) readLocalization(f parsed, p *page, e entry, where *source) {
	code, ok := r.locale(f.file, e.line, e.key)
	if !ok {
		return
	}
	where.lines[code] = e.line
	if _, empty := e.value.(*ast.NullNode); empty {
		return
	}
	p.locales[code] = f.fields(e.value, localizationFields, "a localization", code+".", where, nil)
}

// locale finds a locale that a page may override.
func (r *reader) locale(file string, line int, name string) (string, bool) {
	switch code, ok := r.findLocale(name); {
	case !ok:
		r.problems.add(file, line, "%s is no locale of %s", name, localesFile)
		return "", false
	case code == r.state.defaultLocale():
		r.problems.add(file, line, "%s is the default locale, whose values are those of the page itself", name)
		return "", false
	default:
		return code, true
	}
}

func (r *reader) findLocale(name string) (string, bool) {
	codes := r.state.codes()
	i := slices.IndexFunc(codes, func(code string) bool { return strings.EqualFold(code, name) })
	if i < 0 {
		return "", false
	}
	return codes[i], true
}

func (r *reader) readContent(name string, content []byte) {
	stem := stemOf(name, contentDir, contentEnding)
	dot := strings.LastIndexByte(stem, '.')
	if dot < 0 {
		r.problems.add(name, 0, "must be named after a page and a locale, such as about.en-US.json")
		return
	}
	code, ok := r.findLocale(stem[dot+1:])
	if !ok {
		r.problems.add(name, 0, "%s is no locale of %s", stem[dot+1:], localesFile)
		return
	}
	p := r.stems[stem[:dot]]
	if p == nil {
		r.problems.add(name, 0, "has no page: there is no %s/%s%s", pagesDir, stem[:dot], pageEnding)
		return
	}
	digest, line, err := digestOf(content)
	if err != nil {
		r.problems.add(name, line, "%v", err)
		return
	}
	r.state.contents[digest] = name
	if p.values == nil {
		return // the page can't be read
	}
	own := p.values
	if code != r.state.defaultLocale() {
		if own = p.locales[code]; own == nil {
			own = values{}
			p.locales[code] = own
		}
	}
	if _, given := own[contentField]; given {
		r.problems.add(p.where.file, p.where.at(code+"."+contentField), "content of %s must not be null here, because there is %s", code, name)
	}
	own[contentField] = digest
}

// maxDepth is how deep the service lets content be nested.
const maxDepth = 100

// digestOf returns the digest that the service has of a content, or what is wrong with it
// and in which line.
func digestOf(content []byte) (digest string, line int, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(content))
	kind, depth := d.PeekKind(), 0
	for err == nil {
		_, err = d.ReadToken()
		depth = max(depth, d.StackDepth())
	}
	line = 1 + bytes.Count(content[:d.InputOffset()], []byte("\n"))
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax):
		line = 1 + bytes.Count(content[:min(syntax.ByteOffset, int64(len(content)))], []byte("\n"))
		return "", line, fmt.Errorf("is no JSON: %w", syntax.Err)
	case !errors.Is(err, io.EOF):
		return "", line, fmt.Errorf("is no JSON: %w", err)
	case kind != '{' && kind != '[':
		return "", 1, errors.New("must be a JSON object or array")
	case depth > maxDepth:
		return "", 0, fmt.Errorf("must not be nested deeper than %d levels", maxDepth)
	}
	var compact bytes.Buffer
	if json.Compact(&compact, content) != nil {
		return "", 0, errors.New("must be one JSON object or array")
	}
	sum := sha256.Sum256(compact.Bytes())
	return "sha256-" + hex.EncodeToString(sum[:]), 0, nil
}
