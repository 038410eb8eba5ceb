package sqlstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"galley/internal/cms"
)

// Rows of single statements are read from the driver without database/sql in
// between, which makes a value of each column, with ids as text, and then what
// was asked for of that. Both together took longer than all else that is done
// for a page.

// rowPool is a pool of connections to PostgreSQL that goes through rows by
// itself.
type rowPool struct{ *sql.DB }

// poolOf is a rowPool, unless values come as text.
func poolOf(db *sql.DB, config *pgx.ConnConfig) conn {
	if !speaksBinary(config) {
		return db
	}
	return rowPool{db}
}

// speaksBinary tells whether the URL asks for no other way to run statements than
// those in which values come in the form that PostgreSQL keeps them in.
func speaksBinary(config *pgx.ConnConfig) bool {
	modes := []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec}
	return slices.Contains(modes, config.DefaultQueryExecMode)
}

var binaryResults = pgx.QueryResultFormats{pgx.BinaryFormatCode}

// each shows every row of a query, one after the other.
func (p rowPool) each(ctx context.Context, query string, args []any, show func(row) error) error {
	conn, err := p.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // back to the pool
	return onDriver(conn, func(driver *pgx.Conn) error {
		rows, err := driver.Query(ctx, query, append([]any{binaryResults}, args...)...)
		if err != nil {
			return err
		}
		return showRows(driver, rows, show)
	})
}

// onDriver uses the driver's own connection.
func onDriver(conn *sql.Conn, use func(*pgx.Conn) error) error {
	return conn.Raw(func(driverConn any) error {
		connection, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the pool has a %T", driverConn)
		}
		return use(connection.Conn())
	})
}

func showRows(conn *pgx.Conn, rows pgx.Rows, show func(row) error) error {
	defer rows.Close()
	r := binaryRow{rows, conn.TypeMap()}
	for rows.Next() {
		if err := show(r); err != nil {
			return err
		}
	}
	return rows.Err()
}

// binaryRow is a row as PostgreSQL sends it.
type binaryRow struct {
	pgx.Rows
	types *pgtype.Map
}

// Scan reads what pages are made of by itself, and leaves the rest to the driver.
func (r binaryRow) Scan(dest ...any) error {
	columns, values := r.FieldDescriptions(), r.RawValues()
	if len(dest) != len(values) {
		return fmt.Errorf("a row has %d columns, want %d", len(values), len(dest))
	}
	for i, value := range values {
		kind := columns[i].DataTypeOID
		if plain := columns[i].Format == pgx.BinaryFormatCode || kind == pgtype.TextOID; plain && scanned(kind, value, dest[i]) {
			continue
		}
		if err := r.types.Scan(kind, columns[i].Format, value, dest[i]); err != nil {
			return fmt.Errorf("column %s: %w", columns[i].Name, err)
		}
	}
	return nil
}

// scanned reads a value, and tells whether it knows how to.
func scanned(kind uint32, value []byte, dest any) bool {
	if _, ok := dest.(ignored); ok {
		return true
	}
	switch kind {
	case pgtype.UUIDOID:
		id, ok := dest.(*cms.ID)
		return ok && copy(id[:], value) == len(id)
	case pgtype.TextOID:
		return scannedText(value, dest)
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return scannedNumber(value, dest)
	case pgtype.BoolOID:
		switch dest := dest.(type) {
		case *bool:
			*dest = value != nil && value[0] != 0
			return value != nil
		case **bool:
			return orNull(dest, value, func(value []byte) bool { return value[0] != 0 })
		}
	case pgtype.Float8OID:
		if dest, ok := dest.(**float64); ok {
			return orNull(dest, value, func(value []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(value)) })
		}
	}
	return false
}

func scannedText(value []byte, dest any) bool {
	switch dest := dest.(type) {
	case *string:
		*dest = string(value)
		return value != nil
	case **string:
		return orNull(dest, value, func(value []byte) string { return string(value) })
	case **cms.Frequency:
		return orNull(dest, value, func(value []byte) cms.Frequency { return cms.Frequency(value) })
	}
	return false
}

// orNull reads a value that may be null, as any can.
func orNull[T any](dest **T, value []byte, read func([]byte) T) bool {
	*dest = nil
	if value != nil {
		*dest = new(read(value))
	}
	return true
}

func scannedNumber(value []byte, dest any) bool {
	if value == nil {
		unset, ok := dest.(nullTimeScanner)
		if ok {
			*unset.dst = nil
		}
		return ok
	}
	var n int64
	switch len(value) {
	case 2:
		n = int64(int16(binary.BigEndian.Uint16(value)))
	case 4:
		n = int64(int32(binary.BigEndian.Uint32(value)))
	case 8:
		n = int64(binary.BigEndian.Uint64(value))
	}
	switch dest := dest.(type) {
	case *int64:
		*dest = n
	case *cms.Version:
		*dest = cms.Version(n)
	case *cms.FieldSet:
		*dest = cms.FieldSet(n)
	case timeScanner:
		*dest.dst = time.UnixMicro(n).UTC()
	case nullTimeScanner:
		*dest.dst = new(time.UnixMicro(n).UTC())
	default:
		return false
	}
	return true
}
