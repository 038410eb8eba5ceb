package httpapi

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"strings"

	"galley/internal/cms"
	"galley/internal/service"
)

const idempotencyHeader = "Idempotency-Key"

// idempotencyKey reads the header, if the request has one.
func idempotencyKey(r *request) (string, error) {
	values := r.Header.Values(idempotencyHeader)
	if len(values) == 0 || r.Method != http.MethodPost {
		return "", nil
	}
	key := values[0]
	printable := !strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' })
	if len(values) > 1 || key == "" || len(key) > cms.MaxIdempotencyKey || !printable {
		return "", cms.BadField(idempotencyHeader, "must be given once, with 1 to 255 printable ASCII characters")
	}
	return key, nil
}

// bigWork are the operations of which a workspace has one at a time.
var bigWork = map[string]bool{"duplicateSite": true, "publishSite": true, "restorePublish": true, "discardSite": true, "batchPages": true}

// smallBatch is the size of a body below which a batch is not big work: about a
// hundred operations.
const smallBatch = 16 << 10

// handle runs the endpoint, and counts the rows that it touches. Big work waits
// here: an idempotent request has its transaction from now on.
func (a *API) handle(r *request) (answer, error) {
	if readOnly(r.Method) {
		return r.endpoint.handle(r)
	}
	if bigWork[r.endpoint.name] && (r.endpoint.name != "batchPages" || r.ContentLength < 0 || r.ContentLength > smallBatch) {
		done, err := a.svc.BigWork(r.Context(), r.who)
		if err != nil {
			return answer{}, err
		}
		defer done()
	}
	ctx, rows := service.CountRows(r.Context())
	r.Request = r.WithContext(ctx)
	defer func() { a.limits.chargeRows(r, rows.Load()) }()
	return a.once(r)
}

// once runs the endpoint, once for all requests with one idempotency key.
func (a *API) once(r *request) (answer, error) {
	key, err := idempotencyKey(r)
	if err != nil {
		return answer{}, err
	}
	// A body that is too large is refused, and was not even read as a whole: what
	// there is of it says nothing about which request this is.
	most := r.endpoint.maxBody()
	if key == "" || r.ContentLength > most {
		return r.endpoint.handle(r)
	}
	// All of the body is read first: the transaction must not wait for it.
	raw, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	if err != nil {
		return answer{}, errBodyCut
	}
	if int64(len(raw)) > most {
		r.Body = io.NopCloser(bytes.NewReader(raw))
		return r.endpoint.handle(r)
	}
	secret := sha256.Sum256([]byte(r.credential + "\x00" + key))
	done, err := a.svc.Do(r.Context(), r.who, service.Once{Key: requestName(key), Request: requestHash(r, raw)},
		func(ctx context.Context) (service.Answered, error) {
			again := *r
			again.Request = r.WithContext(ctx)
			again.Body = io.NopCloser(bytes.NewReader(raw))
			ans, err := r.endpoint.handle(&again)
			if err != nil {
				return service.Answered{}, err
			}
			done := service.Answered{Status: ans.status, Location: ans.location, Body: ans.encoded(), Sealed: ans.secret}
			if done.Sealed {
				done.Body = seal(secret, done.Body)
			}
			return done, nil
		})
	if err != nil {
		return answer{}, err
	}
	ans := answer{status: done.Status, location: done.Location, raw: done.Body, secret: done.Sealed}
	if done.Sealed {
		var opened bool
		if ans.raw, opened = unseal(secret, done.Body); !opened {
			return answer{}, cms.Conflict("The answer has a key in it and is repeated only to the key that asked for it")
		}
	}
	return ans, nil
}

// requestName is what the store knows an idempotency key by: a caller may have
// taken a secret for one.
func requestName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// requestHash tells requests apart: the same address, query and body.
func requestHash(r *request, body []byte) cms.KeyHash {
	h := sha256.New()
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // whatever else it says, the body says the same
	if len(body) == 0 && r.endpoint.bodyOptional() {
		media, body = "application/json", []byte("{}")
	}
	for _, part := range []string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, media, string(body)} {
		_, _ = io.WriteString(h, part+"\x00") // a hash never fails
	}
	return cms.KeyHash(h.Sum(nil))
}

// An answer that shows a key is kept encrypted, under a secret that only its
// caller has: keys are never readable in the store.

func seal(secret [sha256.Size]byte, text []byte) []byte {
	gcm := newGCM(secret)
	nonce := make([]byte, gcm.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return gcm.Seal(nonce, nonce, text, nil)
}

func unseal(secret [sha256.Size]byte, sealed []byte) ([]byte, bool) {
	gcm := newGCM(secret)
	if len(sealed) < gcm.NonceSize() {
		return nil, false
	}
	text, err := gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], nil)
	return text, err == nil
}

func newGCM(secret [sha256.Size]byte) cipher.AEAD {
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		panic(err) // the key has the right size
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return gcm
}
