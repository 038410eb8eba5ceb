package httpapi

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"mime"
	"strings"

	"galley/internal/cms"
	"galley/internal/service"
)

const idempotencyHeader = "Idempotency-Key"

// once runs the endpoint once for all requests with the same Idempotency-Key.
func (a *API) once(r *request, header []string) (response, error) {
	key := header[0]
	printable := !strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' })
	if len(header) > 1 || key == "" || len(key) > cms.MaxIdempotencyKey || !printable {
		return response{}, cms.BadField(idempotencyHeader, "must be given once, with 1 to 255 printable ASCII characters")
	}
	if r.body.err != nil {
		return r.endpoint.handle(r) // it refuses the request
	}
	secret := sha256.Sum256([]byte(r.credential + "\x00" + key))
	done, err := a.svc.Do(r.Context(), r.who, service.Once{Key: requestName(key), Request: requestHash(r, r.body.raw)},
		func(ctx context.Context) (service.Answered, error) {
			again := *r
			again.Request = r.WithContext(ctx)
			res, err := r.endpoint.handle(&again)
			if err != nil {
				return service.Answered{}, err
			}
			done := service.Answered{Status: res.status, Location: res.location, Body: res.encoded(), Sealed: res.secret}
			if done.Sealed {
				done.Body = seal(secret, done.Body)
			}
			return done, nil
		})
	if err != nil {
		return response{}, err
	}
	res := response{status: done.Status, location: done.Location, raw: done.Body, secret: done.Sealed}
	if done.Sealed {
		var opened bool
		if res.raw, opened = unseal(secret, done.Body); !opened {
			return response{}, cms.Conflict("The answer has a key in it and is repeated only to the key that asked for it")
		}
	}
	return res, nil
}

// requestName is the stored form of an idempotency key. It is a hash, since the
// key may be a secret.
func requestName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// requestHash is a hash of the method, path, query and body.
func requestHash(r *request, body []byte) cms.KeyHash {
	h := sha256.New()
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if len(body) == 0 && r.endpoint.bodyOptional() {
		media, body = "application/json", []byte("{}")
	}
	for _, part := range []string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, media, string(body)} {
		_, _ = io.WriteString(h, part+"\x00") // a hash never fails
	}
	return cms.KeyHash(h.Sum(nil))
}

// seal encrypts a response that has a key, under a secret that only its caller
// has, so that the store never has readable keys.
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
