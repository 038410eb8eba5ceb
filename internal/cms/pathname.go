package cms

import (
	"encoding/hex"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxPathname is the longest pathname, in bytes, as stored.
const MaxPathname = 2048

// maxDecoded bounds a pathname before NFC, which shortens it by less than this.
const maxDecoded = 4 * MaxPathname

// ParsePathname reads a pathname of a request body: it adds a missing leading
// slash, drops a trailing one, decodes percent escapes once and returns NFC. A
// percent sign that begins no escape is kept.
func ParsePathname(s string) (string, error) {
	if s == "" {
		return "", errors.New("must not be empty")
	}
	if len(s) > 3*maxDecoded { // an escape is three bytes
		return "", errTooLong
	}
	// Each segment is decoded alone: an escaped slash is no separator.
	segments := strings.Split(s, "/")
	for i, segment := range segments {
		if strings.ContainsAny(segment, "?#") {
			return "", errors.New("must not have a query or fragment")
		}
		decoded := unescape(segment)
		if strings.Contains(decoded, "/") {
			return "", errors.New("must not have an escaped slash")
		}
		segments[i] = decoded
	}
	return CanonicalPathname(strings.Join(segments, "/"))
}

// unescape decodes percent escapes. Unlike url.PathUnescape it keeps a percent sign
// without two hexadecimal digits, as in /100%.
func unescape(s string) string {
	parts := strings.Split(s, "%")
	for i, part := range parts[1:] {
		decoded, err := hex.DecodeString(part[:min(2, len(part))])
		if err != nil || len(decoded) == 0 {
			parts[i+1] = "%" + part
			continue
		}
		parts[i+1] = string(decoded) + part[2:]
	}
	return strings.Join(parts, "")
}

// CanonicalPathname reads a pathname that is already percent-decoded.
func CanonicalPathname(s string) (string, error) {
	if len(s) > maxDecoded {
		return "", errTooLong
	}
	if !utf8.ValidString(s) {
		return "", errors.New("must be valid UTF-8")
	}
	s = "/" + strings.TrimPrefix(norm.NFC.String(s), "/")
	if s == "/" {
		return s, nil
	}
	s = strings.TrimSuffix(s, "/")
	if len(s) > MaxPathname {
		return "", errTooLong
	}
	for segment := range strings.SplitSeq(s[1:], "/") {
		if err := checkSegment(segment); err != nil {
			return "", err
		}
	}
	return s, nil
}

var errTooLong = errors.New("must be at most 2,048 bytes")

// checkSegment checks one segment of a pathname, decoded and in NFC.
func checkSegment(segment string) error {
	switch segment {
	case "":
		return errors.New("must not have an empty segment")
	case ".", "..":
		return errors.New("must not have a . or .. segment")
	}
	if strings.ContainsAny(segment, "?#") {
		return errors.New("must not have a query or fragment")
	}
	if strings.Contains(segment, `\`) {
		return errors.New("must not have a backslash")
	}
	if strings.ContainsFunc(segment, unicode.IsControl) {
		return errors.New("must not have a control character")
	}
	return nil
}

// RawPathname reads a pathname of a route with skipValidation, and keeps it as it
// is.
func RawPathname(s string) (string, error) {
	switch {
	case s == "":
		return "", errors.New("must not be empty")
	case len(s) > MaxPathname:
		return "", errTooLong
	case !utf8.ValidString(s):
		return "", errors.New("must be valid UTF-8")
	case strings.ContainsFunc(s, unicode.IsControl):
		return "", errors.New("must not have a control character")
	}
	return s, nil
}

// ParsePathPrefix reads a locale's path prefix: one segment, or "" for the
// root.
func ParsePathPrefix(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	if strings.Contains(s, "/") {
		return "", errors.New("must be one segment, without a slash")
	}
	path, err := ParsePathname(s)
	if err != nil {
		return "", err
	}
	return path[1:], nil
}

// LastSegment is the part of a pathname after its last slash, or "/".
func LastSegment(pathname string) string {
	if pathname == "/" {
		return pathname
	}
	return pathname[strings.LastIndexByte(pathname, '/')+1:]
}
