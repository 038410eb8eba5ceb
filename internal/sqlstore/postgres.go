package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"galley/internal/cms"
)

var postgresDialect = &dialect{
	name:  "postgres",
	goose: goose.DialectPostgres,
	words: map[string]string{
		"UUID": "uuid", "Text": `text collate "C"`, "Bytes": "bytea",
		"Clustered": "", "Counters": postgresCounters, "Statistics": "", // it gathers its own
		"NoID": "'" + cms.NoID.String() + "'", "Transaction": "txid_current()", "MarkWritten": postgresMarks,
	},
	lockShared: " for share",
	lockUpdate: " for no key update",
	skipLocked: " for update skip locked",
	size:       `select pg_database_size(current_database())`,
	pathList:   `string_agg(o.locale_id::text || ' ' || o.pathname, chr(10))`,
	// The tables whose keys have a site, and their partitions. Growth invalidates
	// their statistics, updates do not.
	unseen: `select t.relname from pg_stat_user_tables t join pg_class c on c.oid = t.relid
		where t.schemaname = current_schema() and t.relname similar to '(page|pathname|redirect)%' and t.n_live_tup > 1000
		and ((t.last_analyze is null and t.last_autoanalyze is null) or t.n_live_tup > c.reltuples * 1.25)`,
	guess:     `explain (format json) `,
	analyze:   `analyze (skip_locked) `,
	bulkJoins: `select set_config('enable_nestloop', 'off', true)`,
	anyJoins:  `select set_config('enable_nestloop', 'on', true)`,
	among:     amongArray,
	merge:     mergeOrdered,
	tryLock:   `select pg_try_advisory_xact_lock(hashtextextended(?, 0))`,
	tables:    `select tablename from pg_tables where schemaname = current_schema()`,
	indexes: `select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
		where i.indisvalid and c.relnamespace = current_schema()::regnamespace`,
	// The definition of a partitioned table's index is of the empty parent only.
	definitions: `select c.relname, replace(pg_get_indexdef(c.oid), ' ON ONLY ', ' ON ') from pg_index i join pg_class c on c.oid = i.indexrelid
		where not c.relispartition and c.relnamespace = current_schema()::regnamespace and not exists (select 1 from pg_constraint where conindid = c.oid)`,
	// Without statistics the planner assumes empty tables.
	filled:  func(tables []string) string { return `analyze ` + strings.Join(tables, ", ") },
	examine: examinePostgres,
	// A statement that waits for a table lock blocks all later ones, so a migration
	// gives up soon and tries again.
	beforeMigration: `set local lock_timeout = '100ms';`,
	unfit:           unfitPostgres,
	classify:        classifyPostgres,
}

// postgresMarks mark the pages to be indexed for searches.
const postgresMarks = `
create function search_mark_page() returns trigger language plpgsql as $$
begin
  insert into search_mark (site_id, id) values (new.site_id, new.id) on conflict do nothing;
  return null;
end $$;
create trigger search_created after insert on page for each row when (new.version = 0) execute function search_mark_page();
create trigger search_changed after update of name, pathname, title on page for each row
when (new.version = 0 and (new.name, new.pathname, new.title) is distinct from (old.name, old.pathname, old.title))
execute function search_mark_page();`

// durableCommits are the settings with which a commit waits for the disk.
var durableCommits = []string{"on", "remote_apply"}

// unfitPostgres refuses a database with asynchronous commits, which each connection
// turns off unless a pooler drops the setting, or without Unicode.
func unfitPostgres(ctx context.Context, q queries) error {
	set, err := one(ctx, q, "", func(r row) (set struct{ commit, encoding string }, err error) {
		return set, r.Scan(&set.commit, &set.encoding)
	}, `select current_setting('synchronous_commit'), current_setting('server_encoding')`)
	switch {
	case err != nil:
		return err
	case !slices.Contains(durableCommits, set.commit):
		return fmt.Errorf("synchronous_commit is %s although each connection sets it to on, and an acknowledged write could be lost: "+
			"where a pooler drops the setting, run 'alter role ... set synchronous_commit = on'", set.commit)
	case set.encoding != unicodeEncoding:
		return fmt.Errorf("the database's encoding is %s, which can't store every text: "+
			"create one with 'create database ... encoding 'UTF8' template template0'", set.encoding)
	}
	return nil
}

const unicodeEncoding = "UTF8"

// mergeOrdered gives each select the order and the limit of the whole. Otherwise
// the planner may expect few rows, and sort all of them.
func mergeOrdered(selects []string, order string) string {
	return `(` + strings.Join(selects, order+`) union all (`) + order + `)` + order
}

// amongArray passes all values as one array. A list of parameters is compared with
// each row one by one where the planner expects a small site and uses no index:
// 500 ms instead of 3 for a thousand of ten thousand rows. A single value is no
// array, which would be planned again each time.
func amongArray(column string, values []any) (condition string, args []any) {
	if len(values) == 1 {
		return column + ` = ?`, values
	}
	kind, oid := "text[]", uint32(pgtype.TextArrayOID)
	switch values[0].(type) {
	case cms.ID:
		kind, oid = "uuid[]", pgtype.UUIDArrayOID
	case int64:
		kind, oid = "bigint[]", pgtype.Int8ArrayOID
	}
	// As text: in some modes, which a URL may select, the driver does not know the
	// types of parameters.
	array, err := pgtype.NewMap().Encode(oid, pgx.TextFormatCode, values, nil)
	if err != nil {
		panic(err) // they are strings, ids or numbers
	}
	return column + ` = any(cast(? as ` + kind + `))`, []any{string(array)}
}

// maxPostgresConns is the pool's size; a server's default allows 100 in all,
// so three nodes fit, each with two more to notify and to listen.
const maxPostgresConns = 24

// OpenPostgres opens a database by its URL. It does not connect yet.
func OpenPostgres(url string, observe Observe) (*Store, error) {
	config, err := parsePostgres(url)
	if err != nil {
		return nil, err
	}
	pooled := config.Copy()
	// A commit must be on the disk, whatever the server's default is.
	pooled.ConnConfig.RuntimeParams["synchronous_commit"] = "on"
	e, err := newPostgres(pooled, maxPostgresConns)
	if err != nil {
		return nil, err
	}
	s := newStore(postgresDialect, e, stdlib.OpenDBFromPool(e.pool), observe)
	s.notifier = newNotifier()
	s.listen = listenPostgres(config.ConnConfig, s.notifier, s.sendNotification)
	return s, nil
}

// postgresEngine is a database on a PostgreSQL server.
type postgresEngine struct{ pool *pgxpool.Pool }

func newPostgres(config *pgxpool.Config, conns int32) (*postgresEngine, error) {
	config.MaxConns = conns
	config.PingTimeout = pingTimeout
	// Behind a pooler, another client may have used the connection to listen: its
	// notifications would accumulate.
	config.ConnConfig.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) {}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	return &postgresEngine{pool}, err
}

// pingTimeout is how long a connection that was idle may take to respond.
const pingTimeout = 5 * time.Second

func (e *postgresEngine) query(ctx context.Context, query string, args []any, each func(row) error) error {
	return e.retry(func() error {
		rows, err := e.pool.Query(ctx, rebind(query), arguments(args)...)
		if err != nil {
			return err
		}
		return eachRow(rows, each)
	})
}

// rebind replaces each ? of a statement by a numbered placeholder. No statement
// has a ? in a literal.
func rebind(query string) string {
	text := make([]byte, 0, len(query)+3*strings.Count(query, "?"))
	n := 0
	for part := range strings.SplitSeq(query, "?") {
		if n > 0 {
			text = strconv.AppendInt(append(text, '$'), int64(n), 10)
		}
		text = append(text, part...)
		n++
	}
	return string(text)
}

// arguments converts values for the driver, which takes ids of its own type at
// less cost.
func arguments(values []any) []any {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = argument(v)
		switch v := args[i].(type) {
		case cms.ID:
			args[i] = pgtype.UUID{Bytes: v, Valid: true}
		case cms.Digest:
			args[i] = v[:]
		}
	}
	return args
}

// eachRow calls a function with each row, and closes the result.
func eachRow(rows pgx.Rows, each func(row) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (e *postgresEngine) exec(ctx context.Context, _ bool, query string, args []any) (int64, error) {
	var tag pgconn.CommandTag
	err := e.retry(func() (err error) {
		tag, err = e.pool.Exec(ctx, rebind(query), arguments(args)...)
		return err
	})
	return tag.RowsAffected(), err
}

// retry runs a statement that did not reach the server once more, on a new
// connection: after a restart of the server, every idle one is dead.
func (e *postgresEngine) retry(run func() error) error {
	err := run()
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || !pgconn.SafeToRetry(err) {
		return err
	}
	e.pool.Reset()
	return run()
}

func (e *postgresEngine) view(ctx context.Context, read func(conn) error) error {
	t, err := e.begin(ctx, "begin isolation level repeatable read read only")
	if err != nil {
		return postgresDialect.fail(ctx, err)
	}
	defer t.rollback(ctx) // nothing to keep
	return read(t)
}

func (e *postgresEngine) tx(ctx context.Context, write func(conn) error) error {
	t, err := e.begin(ctx, "begin")
	if err != nil {
		return postgresDialect.fail(ctx, err)
	}
	defer t.rollback(ctx) // does nothing after a commit
	if err := write(t); err != nil {
		return err
	}
	return postgresDialect.fail(ctx, t.commit(ctx))
}

func (*postgresEngine) check() error { return nil }

func (e *postgresEngine) pools() map[string]func() PoolStats {
	return map[string]func() PoolStats{"main": e.stats}
}

func (e *postgresEngine) stats() PoolStats {
	s := e.pool.Stat()
	return PoolStats{
		Max: int64(s.MaxConns()), Open: int64(s.TotalConns()), InUse: int64(s.AcquiredConns()),
		Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime(),
	}
}

func (e *postgresEngine) close() error {
	e.pool.Close()
	return nil
}

// connectTimeout is how long a server may take to accept a connection.
const connectTimeout = 10 * time.Second

func parsePostgres(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		if file, ok := errors.AsType[*fs.PathError](err); ok {
			return nil, fmt.Errorf("the database URL needs a file that can't be read: %w", file)
		}
		// The parser's message may repeat the password.
		return nil, errors.New("the database URL can't be read: it must look like postgres://user:password@host:5432/name")
	}
	if config.ConnConfig.ConnectTimeout == 0 { // the URL has none
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "galley"
	}
	return config, nil
}

// ListenAt makes the store listen to other nodes at another URL than the
// database's: a pooler in transaction mode passes no notifications on.
func (s *Store) ListenAt(url string) error {
	config, err := parsePostgres(url)
	if err != nil {
		return err
	}
	s.listen = listenPostgres(config.ConnConfig, s.notifier, s.sendNotification)
	return nil
}

func (s *Store) sendNotification(ctx context.Context, message string) error {
	_, err := s.engine.exec(ctx, true, notify, []any{channel, message})
	return err
}

// Denied reports whether PostgreSQL refused a statement for lack of privileges.
func Denied(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return false // it refused the connection
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "42501"
}

// Refusal returns the message of an error that PostgreSQL returned on a connection.
func Refusal(err error) (message string, ok bool) {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return "", false
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return "", false
	}
	return e.Message, true
}

func classifyPostgres(err error) failure {
	// The cause of a failed connection may be an error of the server.
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return failUnavailable
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return classifyCode(e.Code)
	}
	if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err) {
		return failUnavailable
	}
	return failOther
}

// unavailableCodes are classes and codes of errors that may pass: of connections,
// resources, a shutdown, a statement timeout, and a read-only server after a failover.
var unavailableCodes = []string{"08", "53", "57P", "57014", "25006"}

// lockNotAvailable is the code of a lock timeout.
const lockNotAvailable = "55P03"

func classifyCode(code string) failure {
	switch {
	case code == "23505":
		return failUnique
	case code == "40001" || code == "40P01" || code == lockNotAvailable:
		return failRetry
	case slices.ContainsFunc(unavailableCodes, func(class string) bool { return strings.HasPrefix(code, class) }):
		return failUnavailable
	}
	return failOther
}
