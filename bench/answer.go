package main

import (
	"bytes"
	"fmt"
	"strconv"
)

// answer is a whole answer of a server. Its body is as sent: in chunks, if it
// came in chunks.
type answer struct {
	status int
	body   []byte
}

var (
	headEnd       = []byte("\r\n\r\n")
	contentLength = []byte("\r\nContent-Length: ")
	chunked       = []byte("\r\nTransfer-Encoding: chunked\r\n")
	lastChunk     = []byte("\r\n0\r\n\r\n")
)

// parseAnswer reads an answer as far as it has come. It knows no more of HTTP
// than Go's servers make use of.
func parseAnswer(text []byte) (a answer, whole bool, err error) {
	end := bytes.Index(text, headEnd)
	if end < 0 {
		return a, false, nil
	}
	head, rest := text[:end+2], text[end+len(headEnd):]
	if len(head) < len("HTTP/1.1 200") {
		return a, false, fmt.Errorf("no HTTP: %q", head)
	}
	if a.status, err = strconv.Atoi(string(head[9:12])); err != nil {
		return a, false, fmt.Errorf("no HTTP: %q", head)
	}
	if bytes.Contains(head, chunked) {
		a.body = rest
		// What a chunk holds is JSON, which has no bare line ends.
		return a, bytes.HasSuffix(rest, lastChunk), nil
	}
	_, value, ok := bytes.Cut(head, contentLength)
	if !ok {
		if a.status == 204 {
			return a, true, nil
		}
		return a, false, fmt.Errorf("an answer without a length: %q", head)
	}
	digits, _, _ := bytes.Cut(value, headEnd[:2])
	length, err := strconv.Atoi(string(digits))
	if err != nil {
		return a, false, fmt.Errorf("an answer without a length: %q", head)
	}
	a.body = rest
	return a, len(rest) >= length, nil
}
