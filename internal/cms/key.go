package cms

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"regexp"
	"strings"
	"unicode"
)

const (
	appKeyPrefix  = "sk_"
	previewPrefix = "pv_"
	sessionPrefix = "cs_"
	keyBodyLen    = 43 // base62 digits of 32 bytes
	keyCheckLen   = 6  // base62 digits of a CRC-32
	keyHintLength = 4
)

var keyForm = regexp.MustCompile(`^[a-z]{2}_[0-9A-Za-z]{49}$`)

// AppKey is the secret of an app. It is shown once and stored as a hash.
type AppKey string

// PreviewToken is the secret of a preview. It is shown once and stored as a hash.
type PreviewToken string

// SessionToken is the secret of a session of the console, or of a link to it. It is
// stored as a hash.
type SessionToken string

// KeyHash is what the store keeps of an App key or a token. They have 256 random
// bits, so a plain hash is as safe as a slow one.
type KeyHash [sha256.Size]byte

// NewAppKey returns a new random key.
func NewAppKey() AppKey { return AppKey(newSecret(appKeyPrefix)) }

// NewPreviewToken returns a new random token.
func NewPreviewToken() PreviewToken { return PreviewToken(newSecret(previewPrefix)) }

// NewSessionToken returns a new random token.
func NewSessionToken() SessionToken { return SessionToken(newSecret(sessionPrefix)) }

func newSecret(prefix string) string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // it never fails
	body := prefix + base62Digits(new(big.Int).SetBytes(secret[:]), keyBodyLen)
	return body + keyChecksum(body)
}

// ParseAppKey reads a key and checks its checksum, so that a typo costs no query.
func ParseAppKey(s string) (AppKey, bool) { return AppKey(s), isSecret(s, appKeyPrefix) }

// ParsePreviewToken reads a token and checks its checksum.
func ParsePreviewToken(s string) (PreviewToken, bool) {
	return PreviewToken(s), isSecret(s, previewPrefix)
}

// ParseSessionToken reads a token and checks its checksum.
func ParseSessionToken(s string) (SessionToken, bool) {
	return SessionToken(s), isSecret(s, sessionPrefix)
}

func isSecret(s, prefix string) bool {
	if !strings.HasPrefix(s, prefix) || !keyForm.MatchString(s) {
		return false
	}
	body, sum := s[:len(prefix)+keyBodyLen], s[len(prefix)+keyBodyLen:]
	return keyChecksum(body) == sum
}

// ParseSiteKey reads a site's public key, in its canonical form alone.
func ParseSiteKey(s string) (ID, bool) {
	id, ok := ParseID(s)
	return id, ok && id.String() == s // the nil UUID is read as another
}

// Hash is what the store keeps.
func (k AppKey) Hash() KeyHash { return sha256.Sum256([]byte(k)) }

// Hash is what the store keeps.
func (t PreviewToken) Hash() KeyHash { return sha256.Sum256([]byte(t)) }

// Hash is what the store keeps.
func (t SessionToken) Hash() KeyHash { return sha256.Sum256([]byte(t)) }

// Hint is the end of the key, which helps to distinguish keys.
func (k AppKey) Hint() string { return string(k[len(k)-keyHintLength:]) }

func keyChecksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return base62Digits(new(big.Int).SetUint64(uint64(sum)), keyCheckLen)
}

func base62Digits(n *big.Int, length int) string {
	digits := n.Text(62) // the library has the lower case first
	digits = strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, digits)
	return strings.Repeat("0", length-len(digits)) + digits
}
