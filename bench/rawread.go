package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/jackc/pgx/v5"
)

// rawReader is the limit of reads that no cache answers: the driver alone asks
// PostgreSQL for the rows of a page by their key.
type rawReader struct {
	model *galley // whose database it reads
	url   string
}

func (r *rawReader) name() string                        { return rawReadLimit }
func (r *rawReader) does(op operation) bool              { return op.isGet() }
func (r *rawReader) start(context.Context) error         { return nil }
func (r *rawReader) load(context.Context, dataset) error { return nil }
func (r *rawReader) stop() error                         { return nil }
func (r *rawReader) service() []int                      { return []int{os.Getpid()} }
func (r *rawReader) database() []int                     { return r.model.beside }

const rawSelect = `select locale_id, own, name, pathname, title, description, canonical_url, social_image_url,
	sitemap_priority, sitemap_frequency, is_online, no_index, created_at, updated_at, published_at, deleted_at
	from page where site_id = $1 and version = $2 and id = $3`

func (r *rawReader) driver(op operation) (driver, error) {
	ctx := context.Background()
	var conns []*pgx.Conn
	end := func() {
		for _, conn := range conns {
			_ = conn.Close(ctx) // it has only read
		}
	}
	for range connections {
		conn, err := pgx.Connect(ctx, r.url)
		if err == nil {
			conns = append(conns, conn)
			_, err = conn.Prepare(ctx, "page", rawSelect)
		}
		if err != nil {
			end()
			return nil, err
		}
	}
	version := 0
	if op.live {
		version = 1
	}
	c := r.model.loaded
	return workers{connections, func(ctx context.Context, worker int, random *rand.Rand) error {
		p := &c.pages[random.IntN(len(c.pages))]
		return readPage(ctx, conns[worker], c.siteIDs[p.site], version, c.pageIDs[p.number])
	}, end}, nil
}

// readPage reads every value of a page's rows.
func readPage(ctx context.Context, conn *pgx.Conn, siteID string, version int, id string) error {
	rows, err := conn.Query(ctx, "page", siteID, version, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	found := 0
	for rows.Next() {
		var (
			locale                                           [16]byte
			own                                              int
			name, title, description, canonical, image, freq *string
			pathname                                         string
			priority                                         *float64
			online                                           bool
			noIndex                                          *bool
			created, updated                                 int64
			published, deleted                               *int64
		)
		err := rows.Scan(&locale, &own, &name, &pathname, &title, &description, &canonical, &image, &priority, &freq,
			&online, &noIndex, &created, &updated, &published, &deleted)
		if err != nil {
			return err
		}
		found++
	}
	if found == 0 {
		return errors.Join(rows.Err(), fmt.Errorf("page %s has no rows", id))
	}
	return rows.Err()
}
