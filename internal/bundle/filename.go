package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

const (
	// homeStem is the file name of the home page, which has no segment.
	homeStem = "index"
	// maxSegment leaves room for the endings of a name that file systems hold in 255 bytes.
	maxSegment = 200
	// maxStem keeps whole paths within what operating systems take.
	maxStem = 512
)

// stem returns the name of a page's files, without the ending. It differs for any two
// pathnames, also where the file system does not tell letter cases apart, and every system
// takes it. Letters, digits, hyphens and underscores stand for themselves.
func stem(pathname string) string {
	if pathname == "/" {
		return homeStem
	}
	segments := strings.Split(pathname[1:], "/")
	for i, segment := range segments {
		segments[i] = safeName(segment)
	}
	name := strings.Join(segments, "/")
	if name == homeStem {
		return escapeByte(name[0]) + name[1:]
	}
	if len(name) > maxStem {
		return "~" + shortHash(pathname)
	}
	return name
}

// reserved are the names of devices on Windows, with any ending.
var reserved = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// safeName returns the file name of a segment. A tilde, which is escaped elsewhere, comes
// before the hash of one that is too long.
func safeName(segment string) string {
	var b strings.Builder
	for i, r := range segment {
		size := utf8.RuneLen(r)
		if isSafe(r) && (r != '.' || !isAwkwardDot(segment, i)) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(segment[i : i+size]) {
			b.WriteString(escapeByte(c))
		}
	}
	name := b.String()
	if reserved.MatchString(name) {
		name = escapeByte(name[0]) + name[1:]
	}
	if len(name) > maxSegment {
		cut := maxSegment - 2*shortHashBytes - 1
		for !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut] + "~" + shortHash(segment)
	}
	return name
}

// isSafe reports whether a character stands for itself: of those that a file system may
// take for the same, only one does.
func isSafe(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd) && cases.Fold().String(string(r)) == string(r)
}

// isAwkwardDot reports whether a dot hides a file, is dropped by Windows, or makes a folder
// look like a file of another page.
func isAwkwardDot(segment string, i int) bool {
	ending := segment[i:]
	return i == 0 || ending == "." || ending == pageEnding || ending == contentEnding
}

func escapeByte(c byte) string { return fmt.Sprintf("%%%02X", c) }

const shortHashBytes = 16

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:shortHashBytes])
}
