package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/klauspost/compress/s2"

	"galley/internal/cms"
)

func (q queries) Content(ctx context.Context, siteID cms.ID, digest cms.Digest) ([]byte, error) {
	packed, err := one(ctx, q, cms.KindContent, scanValue[[]byte], `select value from content where site_id = ? and digest = ?`, siteID, digest)
	if err != nil {
		return nil, err
	}
	value, err := s2.Decode(nil, packed)
	if err != nil {
		return nil, fmt.Errorf("content %s: %w", digest, err)
	}
	return value, nil
}

func (q queries) PutContents(ctx context.Context, siteID cms.ID, contents []cms.Content, now time.Time) error {
	var args []any
	given := map[cms.Digest]bool{}
	for _, c := range contents {
		if given[c.Digest] {
			continue // PostgreSQL updates no row twice
		}
		given[c.Digest] = true
		args = append(args, siteID, c.Digest, now, len(c.Value), s2.Encode(nil, c.Value))
	}
	_, err := q.insert(ctx, false, `content (site_id, digest, created_at, size, value)`, 5, args,
		` on conflict (site_id, digest) do update set created_at = excluded.created_at where content.created_at < excluded.created_at - `+renewed)
	return err
}

// renewed is the age, in microseconds, from which on the time of a content is
// updated when it is stored again.
var renewed = strconv.FormatInt((cms.ContentAge / 2).Microseconds(), 10)

func (q queries) ContentSite(ctx context.Context, after cms.ID) (cms.ID, error) {
	return one(ctx, q, cms.KindSite, scanValue[cms.ID], `select site_id from content where site_id > ? order by site_id limit 1`, after)
}

func (q queries) UnusedContents(ctx context.Context, siteID cms.ID, before time.Time) ([]cms.Digest, error) {
	return all(ctx, q, func(r row) (cms.Digest, error) {
		var digest *cms.Digest
		err := r.Scan(scanDigest(&digest))
		if err != nil {
			return cms.Digest{}, err
		}
		return *digest, nil
	}, `select c.digest from content c left join (
			select content from page where site_id = ? and content is not null
			union select content from page_past where site_id = ? and content is not null) as used on used.content = c.digest
		where c.site_id = ? and c.created_at < ? and used.content is null`+atMost(maxUnused), siteID, siteID, siteID, before)
}

// maxUnused bounds the contents that are found at a time.
const maxUnused = 10_000

func (q queries) PurgeContents(ctx context.Context, siteID cms.ID, before time.Time, digests []cms.Digest) (int, error) {
	n, err := q.exec(ctx, `delete from content where site_id = ? and created_at < ? and digest in (`+marks(len(digests))+`)`,
		append([]any{siteID, before}, anys(digests)...)...)
	return int(n), err
}
