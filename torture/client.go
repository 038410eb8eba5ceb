package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// client sends one request after the other over one connection, which it opens
// when it needs one. It parses the least there is: a flood must cost the sender
// less than the server.
type client struct {
	addr    string
	key     string
	timeout time.Duration // for each request
	discard bool          // bodies do not matter

	conn net.Conn
	in   *bufio.Reader
}

func newClient(addr, key string) *client {
	return &client{addr: addr, key: key, timeout: 15 * time.Second}
}

// answer is what came back for a request.
type answer struct {
	status     int
	requestID  string
	retryAfter string
	body       []byte
}

// do sends a request; body "" is none. Headers are whole lines.
func (c *client) do(method, target, body string, headers ...string) (answer, error) {
	return c.send(c.request(method, target, body, headers...))
}

// request builds the bytes of a request, so that a flood builds them once.
func (c *client) request(method, target, body string, headers ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: galley\r\n", method, target)
	if c.key != "" {
		fmt.Fprintf(&b, "X-Api-Key: %s\r\n", c.key)
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	for _, line := range headers {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

// send sends a request and reads its answer. An error means that no whole
// answer came: nobody knows whether the request was done.
func (c *client) send(request []byte) (answer, error) {
	if c.conn == nil {
		if err := c.open(); err != nil {
			return answer{}, err
		}
	}
	a, keep, err := c.exchange(request)
	if err != nil || !keep {
		c.close()
	}
	return a, err
}

func (c *client) open() error {
	conn, err := net.DialTimeout("tcp", c.addr, c.timeout) //nolint:noctx // the timeout bounds it, and a context costs a goroutine
	if err != nil {
		return err
	}
	c.conn = conn
	if c.in == nil {
		c.in = bufio.NewReader(nil)
	}
	c.in.Reset(conn)
	return nil
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is under way
	}
	c.conn = nil
}

func (c *client) exchange(request []byte) (a answer, keep bool, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return a, false, err
	}
	_, sent := c.conn.Write(request)
	// A server may answer before it has read everything.
	a, keep, err = c.read()
	if err != nil && sent != nil {
		err = sent
	}
	return a, keep && sent == nil, err
}

var errNoHTTP = errors.New("this is not HTTP")

func (c *client) read() (a answer, keep bool, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return a, false, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return a, false, errNoHTTP
	}
	if a.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return a, false, errNoHTTP
	}
	length, chunked, keep := 0, false, true
	for {
		line, err = c.in.ReadSlice('\n')
		if err != nil {
			return a, false, err
		}
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		if len(name) == 0 {
			break
		}
		is := func(header string) bool { return len(name) == len(header) && strings.EqualFold(string(name), header) }
		switch {
		case is("Content-Length"):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return a, false, errNoHTTP
			}
		case is("Transfer-Encoding"):
			chunked = true
		case is("Connection"):
			keep = string(value) != "close"
		case is("X-Request-Id"):
			a.requestID = string(value)
		case is("Retry-After"):
			a.retryAfter = string(value)
		}
	}
	switch {
	case chunked:
		a.body, err = c.readChunks()
	case c.discard:
		_, err = c.in.Discard(length)
	case length > 0:
		a.body = make([]byte, length)
		_, err = io.ReadFull(c.in, a.body)
	}
	return a, keep, err
}

func (c *client) readChunks() ([]byte, error) {
	var body []byte
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, err := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
		if err != nil {
			return nil, errNoHTTP
		}
		chunk := make([]byte, size+2) // and the line's end
		if _, err := io.ReadFull(c.in, chunk); err != nil {
			return nil, err
		}
		if size == 0 {
			return body, nil
		}
		body = append(body, chunk[:size]...)
	}
}

// must sends a request that has to be answered with a status, and decodes the
// answer, unless nothing is wanted of it.
func (c *client) must(status int, method, target, body string, into any) error {
	a, err := c.do(method, target, body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, target, err)
	}
	if a.status != status {
		return fmt.Errorf("%s %s: status %d, want %d: %s", method, target, a.status, status, a.body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(a.body, into)
}

// resource is what matters of what the server answers with: a site, a page, an
// app, a publish or an audit entry.
type resource struct {
	ID, Title, Key, Pathname string
	RequestID                string              // of an audit entry
	Resource                 struct{ ID string } // likewise
}

// list reads a list page by page, until its end or until a function wants no
// more. The target has a query.
func (c *client) list(target string, page func([]resource) (more bool)) error {
	for after := ""; ; {
		var list struct {
			Data    []resource
			HasMore bool
		}
		if err := c.must(200, "GET", target+"&limit=100"+after, "", &list); err != nil {
			return err
		}
		if !page(list.Data) || !list.HasMore {
			return nil
		}
		after = "&startingAfter=" + list.Data[len(list.Data)-1].ID
	}
}

// newSite makes a site and returns its id.
func (c *client) newSite(name string) (string, error) {
	var site resource
	err := c.must(201, "POST", "/v2/sites", fmt.Sprintf(`{"name":%q}`, name), &site)
	return site.ID, err
}

// newPage makes a page and returns its id.
func (c *client) newPage(siteID, pathname, title string) (string, error) {
	var page resource
	err := c.must(201, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":%q,"title":%q}`, siteID, pathname, title), &page)
	return page.ID, err
}

// filledSite makes a site with pages, by batches. The fields of a page are those
// of its creation in JSON.
func (c *client) filledSite(name string, pages int, fields func(i int) string) string {
	const batchSize = 1000
	site := must(c.newSite(name))
	for first := 0; first < pages; first += batchSize {
		var operations []string
		for i := first; i < min(pages, first+batchSize); i++ {
			operations = append(operations, `{"op":"create",`+fields(i)+`}`)
		}
		check(c.must(200, "POST", "/v6/pages/batch", fmt.Sprintf(`{"siteId":%q,"operations":[%s]}`, site, strings.Join(operations, ",")), nil))
	}
	return site
}
