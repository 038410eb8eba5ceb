package sqlstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"

	"galley/internal/cms"
)

// urlPart is how many URLs a row has. Only the last row of a publish has fewer.
const urlPart = 1000

// Each line of a part is a URL after one of these.
const (
	changedMark = '+'
	removedMark = '-'
)

func (q queries) AddPublishURLs(ctx context.Context, siteID, publishID cms.ID, urls []cms.PublishURL) error {
	var args []any
	for part := range slices.Chunk(urls, urlPart) {
		var text []byte
		for _, u := range part {
			mark := byte(changedMark)
			if u.Change == cms.URLRemoved {
				mark = removedMark
			}
			text = append(append(append(text, mark), u.URL...), '\n')
		}
		args = append(args, siteID, publishID, len(args)/4, s2.Encode(nil, text))
	}
	_, err := q.insert(ctx, false, `publish_url (site_id, publish_id, part, urls)`, 4, args, "")
	return err
}

func (q queries) PublishURLs(ctx context.Context, siteID, publishID cms.ID, from, limit int) ([]cms.PublishURL, error) {
	first, last := from/urlPart, (from+limit-1)/urlPart
	parts, err := values[[]byte](ctx, q, `select urls from publish_url where site_id = ? and publish_id = ? and part >= ? and part <= ? order by part`,
		siteID, publishID, first, last)
	if err != nil {
		return nil, err
	}
	var urls []cms.PublishURL
	for _, part := range parts {
		text, err := s2.Decode(nil, part)
		if err != nil {
			return nil, fmt.Errorf("URLs of publish %s: %w", publishID, err)
		}
		for line := range bytes.Lines(text) {
			u := cms.PublishURL{URL: string(line[1 : len(line)-1]), Change: cms.URLChanged}
			if line[0] == removedMark {
				u.Change = cms.URLRemoved
			}
			urls = append(urls, u)
		}
	}
	urls = urls[min(from-first*urlPart, len(urls)):]
	return urls[:min(limit, len(urls))], nil
}

func (q queries) EventURLs(ctx context.Context, siteID, publishID cms.ID) (cms.EventURLs, error) {
	urls, err := q.PublishURLs(ctx, siteID, publishID, 0, cms.MaxEventURLs+1)
	return cms.NewEventURLs(urls), err
}
