// Package archtest checks which packages import which.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.." // of the module
	module = "galley"
)

// room is what a package may import. Its tests may import everything.
type room struct {
	ours   []string // packages under internal
	others []string // prefixes of packages of other modules
}

var everything = []string{""}

// rooms lists every package.
var rooms = map[string]room{
	"internal/cms":       {nil, []string{"github.com/google/uuid", "golang.org/x/text/", "golang.org/x/net/"}},
	"internal/service":   {[]string{"cms"}, []string{"github.com/maypok86/otter/v2", "golang.org/x/sync/semaphore"}},
	"internal/sqlstore":  {[]string{"cms"}, everything},
	"internal/storetest": {[]string{"cms", "service"}, everything},
	"internal/modeltest": {[]string{"cms"}, nil},
	"internal/ratelimit": {nil, everything},
	"internal/config":    {[]string{"ratelimit"}, everything},
	"internal/httpapi":   {[]string{"cms", "service", "ratelimit"}, everything},
	"internal/outgoing":  {[]string{"cms"}, []string{"code.dny.dev/ssrf", "github.com/standard-webhooks/"}},
	"internal/server":    {nil, []string{"golang.org/x/sync/semaphore"}},
	"internal/backup":    {nil, []string{"github.com/klauspost/compress/"}},
	"internal/cli":       {[]string{"cms", "service", "sqlstore", "ratelimit", "backup", "config", "httpapi", "outgoing", "server"}, everything},
	"internal/pgtest":    {[]string{"pgserver"}, everything},
	"internal/pgserver":  {nil, nil},
	"internal/archtest":  {nil, nil},
	// A program that only tests run.
	"internal/archtest/walk": {[]string{"httpapi", "ratelimit", "service", "sqlstore"}, everything},
	"internal/bench":         {nil, nil},
	"cmd/galley":             {[]string{"cli"}, nil},
	// It runs the program, and PostgreSQL, as separate processes.
	"torture": {[]string{"pgserver"}, []string{"github.com/jackc/pgx/", "github.com/google/uuid"}},
}

// sourceFile is a file of the program, parsed.
type sourceFile struct {
	folder, name string
	syntax       *ast.File
	files        *token.FileSet
}

func (f sourceFile) imports() []string {
	var paths []string
	for _, spec := range f.syntax.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err) // the parser has read it
		}
		paths = append(paths, path)
	}
	return paths
}

func (f sourceFile) at(n ast.Node) string { return f.files.Position(n.Pos()).String() }

// source reads the files of the program, tests left out, and the folders that have
// Go files.
func source(t *testing.T) (files []sourceFile, folders map[string]bool) {
	t.Helper()
	folders = map[string]bool{}
	for _, top := range []string{"cmd", "internal", "torture"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == "testdata" {
				return fs.SkipDir
			}
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			folder, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			folder = filepath.ToSlash(folder)
			folders[folder] = true
			if strings.HasSuffix(path, "_test.go") {
				return nil
			}
			set := token.NewFileSet()
			syntax, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			files = append(files, sourceFile{folder, entry.Name(), syntax, set})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files, folders
}

func TestEveryPackageIsInTheTable(t *testing.T) {
	_, folders := source(t)
	for folder := range folders {
		if _, ok := rooms[folder]; !ok {
			t.Errorf("%s is not in the table: decide what it may import", folder)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(rooms)) {
		if !folders[folder] {
			t.Errorf("%s is in the table and does not exist", folder)
		}
	}
}

func TestImportsKeepTheirDirection(t *testing.T) {
	files, _ := source(t)
	for _, file := range files {
		for _, path := range file.imports() {
			if err := rooms[file.folder].admits(path); err != nil {
				t.Errorf("%s/%s: %v", file.folder, file.name, err)
			}
		}
	}
}

func (r room) admits(path string) error {
	if ours, ok := strings.CutPrefix(path, module+"/"); ok {
		if name, ok := strings.CutPrefix(ours, "internal/"); ok && slices.Contains(r.ours, name) {
			return nil
		}
		return fmt.Errorf("must not import %s, only %v", path, r.ours)
	}
	// Only paths of other modules begin with a host name.
	if host, _, _ := strings.Cut(path, "/"); !strings.Contains(host, ".") {
		return nil
	}
	for _, prefix := range r.others {
		if strings.HasPrefix(path, prefix) {
			return nil
		}
	}
	return fmt.Errorf("must not import %s, only the standard library and %v", path, r.others)
}

// A table that admits everything would let the test above pass.
func TestTheTableRefuses(t *testing.T) {
	tests := []struct {
		folder, path string
		ok           bool
	}{
		{"internal/cms", "strings", true},
		{"internal/cms", "golang.org/x/text/language", true},
		{"internal/cms", "golang.org/x/sync/errgroup", false},
		{"internal/cms", "galley/internal/service", false},
		{"internal/service", "galley/internal/cms", true},
		{"internal/service", "galley/internal/sqlstore", false},
		{"internal/service", "galley/internal/httpapi", false},
		{"internal/sqlstore", "galley/internal/service", false},
		{"internal/httpapi", "galley/internal/sqlstore", false},
		{"internal/server", "github.com/prometheus/client_golang/prometheus", false},
		{"internal/cli", "galley/internal/pgtest", false},
		{"cmd/galley", "galley/internal/cms", false},
	}
	for _, test := range tests {
		if err := rooms[test.folder].admits(test.path); (err == nil) != test.ok {
			t.Errorf("%s imports %s: %v", test.folder, test.path, err)
		}
	}
}

func TestOnlyTheStoreKnowsSQL(t *testing.T) {
	files, _ := source(t)
	for _, file := range files {
		if file.folder == "internal/sqlstore" || file.folder == "internal/pgtest" {
			continue
		}
		for _, path := range file.imports() {
			if path == "database/sql" || strings.HasPrefix(path, "database/sql/") {
				t.Errorf("%s/%s imports %s", file.folder, file.name, path)
			}
		}
	}
}

// dialectFiles are where the engines differ.
var dialectFiles = []string{"internal/sqlstore/dialect.go", "internal/sqlstore/sqlite.go", "internal/sqlstore/postgres.go"}

func TestOnlyTheDialectsAskWhichEngineItIs(t *testing.T) {
	files, _ := source(t)
	for _, file := range files {
		if slices.Contains(dialectFiles, file.folder+"/"+file.name) {
			continue
		}
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			for _, condition := range conditions(n) {
				if engine := namedEngine(condition); engine != "" {
					t.Errorf("%s decides by %s", file.at(condition), engine)
				}
			}
			return true
		})
	}
}

// conditions are the expressions that a statement decides by.
func conditions(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.IfStmt:
		return []ast.Expr{n.Cond}
	case *ast.SwitchStmt:
		if n.Tag != nil {
			return []ast.Expr{n.Tag}
		}
	case *ast.CaseClause:
		return n.List
	}
	return nil
}

func namedEngine(condition ast.Expr) (name string) {
	ast.Inspect(condition, func(n ast.Node) bool {
		text := ""
		switch n := n.(type) {
		case *ast.Ident:
			text = n.Name
		case *ast.BasicLit:
			text = n.Value
		}
		lower := strings.ToLower(text)
		if strings.Contains(lower, "sqlite") || strings.Contains(lower, "postgres") {
			name = text
		}
		return true
	})
	return name
}

func TestEngineNamesAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		`engine == "postgres"`: true, `d == sqliteDialect`: true, `isPostgres(url)`: true, `url != ""`: false,
	} {
		condition, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := namedEngine(condition) != ""; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
