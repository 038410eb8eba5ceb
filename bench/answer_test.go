package main

import "testing"

func TestParseAnswer(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nX-Request-Id: 1\r\n"
	for text, want := range map[string]struct {
		status int
		body   string
		whole  bool
	}{
		"":                                       {},
		"HTTP/1.1 200 OK\r\n":                    {},
		head + "Content-Length: 5\r\n\r\n{\"a\"": {200, `{"a"`, false},
		head + "Content-Length: 5\r\n\r\n{\"a\"}":                                       {200, `{"a"}`, true},
		"HTTP/1.1 204 No Content\r\nVary: x-api-key\r\n\r\n":                            {204, "", true},
		head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n":                          {200, "2\r\n{}\r\n", false},
		head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n":                 {200, "2\r\n{}\r\n0\r\n\r\n", true},
		"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n": {429, "", true},
	} {
		a, whole, err := parseAnswer([]byte(text))
		if err != nil || a.status != want.status || string(a.body) != want.body || whole != want.whole {
			t.Errorf("%q is read as %d %q, whole %t, %v", text, a.status, a.body, whole, err)
		}
	}
	for _, text := range []string{
		"SSH-2.0\r\n\r\n", "HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n", head + "\r\n", head + "Content-Length: many\r\n\r\n",
	} {
		if a, _, err := parseAnswer([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, a)
		}
	}
}
