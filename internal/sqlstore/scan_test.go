package sqlstore

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"galley/internal/cms"
	"galley/internal/pgtest"
)

// everyKind has a column for each kind of value that stores read, and one for
// each that may be null.
type everyKind struct {
	ID                 cms.ID
	Text               string
	NullText           *string
	Frequency          *cms.Frequency
	Bytes              []byte
	Small, Usual, Wide int64
	Version            cms.Version
	Own                cms.FieldSet
	Count              int
	Yes                bool
	NullYes            *bool
	Share              *float64
	At                 time.Time
	NullAt             *time.Time
}

func scanEveryKind(r row) (k everyKind, err error) {
	err = r.Scan(&k.ID, &k.Text, &k.NullText, &k.Frequency, &k.Bytes, &k.Small, &k.Usual, &k.Wide, &k.Version, &k.Own, &k.Count,
		&k.Yes, &k.NullYes, &k.Share, scanTime(&k.At), scanNullTime(&k.NullAt), ignored{})
	return k, err
}

const everyKindOnce = `select cast('01a1e52f-4384-7663-aab8-774c666423fb' as uuid), cast('a é' as text), cast('' as text), cast('daily' as text),
	cast('\x00ff' as bytea), cast(-2 as smallint), cast(-3 as integer), cast(-4 as bigint), cast(1 as smallint), cast(511 as integer), cast(7 as integer),
	true, false, cast(-0.5 as double precision), cast(1700000000000001 as bigint), cast(-1 as bigint), 'ignored'`

const everyKindNull = `select cast('01a1e52f-4384-7663-aab8-774c666423fb' as uuid), cast('' as text), cast(null as text), cast(null as text),
	cast(null as bytea), cast(0 as smallint), cast(0 as integer), cast(0 as bigint), cast(0 as smallint), cast(0 as integer), cast(0 as integer),
	false, cast(null as boolean), cast(null as double precision), cast(0 as bigint), cast(null as bigint), null`

func TestEveryKindOfValueIsRead(t *testing.T) {
	id := uuid.MustParse("01a1e52f-4384-7663-aab8-774c666423fb")
	full := everyKind{
		id, "a é", new(""), new(cms.Frequency("daily")), []byte{0, 255}, -2, -3, -4, 1, 511, 7, true, new(false), new(-0.5),
		time.UnixMicro(1700000000000001).UTC(), new(time.UnixMicro(-1).UTC()),
	}
	for name, s := range map[string]*Store{"sqlite": sqliteForTest(t), "postgres": postgresForTest(t)} {
		for query, want := range map[string][]everyKind{
			everyKindOnce: {full}, everyKindOnce + ` where false`: nil,
			everyKindNull + ` union all ` + everyKindOnce: {{ID: id, At: time.UnixMicro(0).UTC()}, full},
		} {
			if s.dialect.local {
				query = strings.NewReplacer(`cast('01a1e52f-4384-7663-aab8-774c666423fb' as uuid)`, `x'01a1e52f43847663aab8774c666423fb'`,
					`cast('\x00ff' as bytea)`, `x'00ff'`, ` as bytea)`, ` as blob)`).Replace(query)
			}
			got, err := all(t.Context(), s.queries, scanEveryKind, query)
			do(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s\n%s", name, query, diff)
			}
		}
	}
}

// What can't be read is an error, and leaves the connection in use.
func TestRowsThatAreNotAsExpected(t *testing.T) {
	s := postgresForTest(t)
	number := func(r row) (n int64, err error) { return n, r.Scan(&n) }
	for _, query := range []string{`select null::bigint`, `select 'a'::text`, `select 1, 2`, `select true`, `select nothing`, `selec`} {
		if n, err := one(t.Context(), s.queries, "", number, query); err == nil {
			t.Errorf("%s is read as %d", query, n)
		}
	}
	text := func(r row) (s string, err error) { return s, r.Scan(&s) }
	if got, err := one(t.Context(), s.queries, "", text, `select null::text`); err == nil {
		t.Errorf("a null is read as %q", got)
	}
	wrong := errors.New("wrong")
	_, err := all(t.Context(), s.queries, func(row) (int, error) { return 0, wrong }, `select generate_series(1, 100000)`)
	if !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := one(gone, s.queries, "", number, `select 1::bigint`); cms.CodeOf(err) != cms.CodeUnavailable {
		t.Errorf("who has left is told %v", err)
	}
	for range 2 * maxPostgresConns {
		n, err := one(t.Context(), s.queries, "", number, `select 1::bigint`)
		if do(t, err); n != 1 {
			t.Errorf("got %d", n)
		}
	}
	if used := s.engine.pools()["main"]().InUse; used != 0 {
		t.Errorf("%d connections are in use", used)
	}
}

// A statement that meets a connection whose other end has gone is sent again.
func TestRowsAreReadOnAnotherConnectionWhenOneIsGone(t *testing.T) {
	s := postgresForTest(t)
	for range 3 {
		do(t, s.engine.(*postgresEngine).pool.AcquireFunc(t.Context(), func(c *pgxpool.Conn) error {
			// The pool does not know that the other end has gone.
			return c.Conn().PgConn().Conn().Close()
		}))
		n, err := value[int64](t.Context(), s.queries, `select 1::bigint`)
		if do(t, err); n != 1 {
			t.Errorf("got %d", n)
		}
	}
}

// Values come as text in some ways to run statements.
func TestOtherWaysToRunStatements(t *testing.T) {
	for _, mode := range []string{"exec", "simple_protocol", "cache_describe", "describe_exec"} {
		address, err := url.Parse(pgtest.URL(t))
		do(t, err)
		query := address.Query()
		query.Set("default_query_exec_mode", mode)
		address.RawQuery = query.Encode()
		s, err := OpenPostgres(address.String(), nil)
		readyForTest(t, s, err)
		w := cms.Workspace{ID: cms.NewID(), Name: mode, CreatedAt: time.UnixMicro(1).UTC()}
		do(t, s.InTx(t.Context(), func(tx cms.Tx) error {
			do(t, tx.CreateWorkspace(t.Context(), w))
			there, err := tx.Workspace(t.Context(), w.ID)
			if there != w {
				t.Errorf("%s: got %+v", mode, there)
			}
			return err
		}))
		got, err := one(t.Context(), s.queries, "", scanEveryKind, everyKindOnce)
		if do(t, err); got.Small != -2 || got.At.UnixMicro() != 1700000000000001 {
			t.Errorf("%s: got %+v", mode, got)
		}
	}
}
