package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"

	"modernc.org/sqlite"
)

// A folder may be moved, or put in the place of another, while a server runs on
// it. SQLite goes on writing to the file that it has open, which nobody finds
// again, and opens another one for the next reader. So both look first.

// errMoved says that the database is not where it was.
var errMoved = errors.New("the database file was moved, replaced or removed while it was in use: put it back, or restart")

// place is a database's file, as it was when the store was opened.
type place struct {
	file string
	was  os.FileInfo
}

// check tells whether the file is still there.
func (p place) check() error {
	is, err := os.Stat(p.file)
	if err != nil {
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	if !os.SameFile(p.was, is) {
		return errMoved
	}
	return nil
}

// placeConnector opens connections to the file that the store was opened with.
type placeConnector struct {
	place
	name string // with what connections are set to
}

func (c placeConnector) Driver() driver.Driver { return &sqlite.Driver{} }

func (c placeConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.name)
	if moved := c.check(); moved != nil { // now that it is open, or says in its own words why not
		if err == nil {
			err = conn.Close()
		}
		return nil, errors.Join(moved, err)
	}
	return conn, err
}
