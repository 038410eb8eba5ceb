package sqlstore

import (
	"context"
	"time"

	"galley/internal/cms"
)

func (q queries) KeptAnswer(ctx context.Context, credential cms.ID, key string, since time.Time) (cms.KeptAnswer, error) {
	return one(ctx, q, cms.KindAnswer, func(r row) (k cms.KeptAnswer, err error) {
		var request []byte
		err = r.Scan(&k.Credential, &k.Key, &request, &k.Status, &k.Location, &k.Body, &k.Sealed, scanTime(&k.At), &k.Needs.Site, &k.Needs.App, &k.Needs.Webhook)
		copy(k.Request[:], request)
		return k, err
	}, `select credential_id, request_key, request_hash, status, location, body, sealed, created_at, site_id, app_id, webhook_id
		from kept_answer where credential_id = ? and request_key = ? and created_at > ?`, credential, key, since)
}

// LockRequest keeps other transactions, on any node, from running the same request.
// SQLite's one writer needs no lock.
func (q queries) LockRequest(ctx context.Context, credential cms.ID, key string) (bool, error) {
	if q.dialect.tryLock == "" {
		return true, nil
	}
	return value[bool](ctx, q, q.dialect.tryLock, credential.String()+key)
}

func (q queries) KeepAnswer(ctx context.Context, k cms.KeptAnswer) error {
	if err := q.run(ctx, `delete from kept_answer where credential_id = ? and request_key = ?`, k.Credential, k.Key); err != nil {
		return err // one that has expired
	}
	return q.run(ctx, `insert into kept_answer (credential_id, request_key, request_hash, status, location, body, sealed, created_at, site_id, app_id, webhook_id)
		values (`+marks(11)+`)`, k.Credential, k.Key, k.Request, k.Status, k.Location, k.Body, k.Sealed, k.At, k.Needs.Site, k.Needs.App, k.Needs.Webhook)
}

func (q queries) ForgetAnswers(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := q.exec(ctx, `delete from kept_answer where (credential_id, request_key) in (
			select credential_id, request_key from kept_answer where created_at < ? order by created_at limit ?)`, before, limit)
	return int(n), err
}
