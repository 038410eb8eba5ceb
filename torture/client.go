package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// client sends one request after the other over one connection, which it opens
// when it needs one. It does without http.Client and its goroutines: a flood
// must cost the sender less than the server.
type client struct {
	addr    string
	key     string
	timeout time.Duration // for each request
	discard bool          // bodies do not matter

	conn net.Conn
	in   bufio.Reader
}

func newClient(addr, key string) *client {
	return &client{addr: addr, key: key, timeout: 15 * time.Second}
}

// answer is what matters of a response.
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

// send sends a request and reads the response. After an error it is unknown
// whether the request was done.
func (c *client) send(request []byte) (answer, error) {
	if c.conn == nil {
		conn, err := net.DialTimeout("tcp", c.addr, c.timeout) //nolint:noctx // the timeout bounds it, and a context costs a goroutine
		if err != nil {
			return answer{}, err
		}
		c.conn = conn
		c.in.Reset(conn)
	}
	a, keep, err := c.exchange(request)
	if err != nil || !keep {
		c.close()
	}
	return a, err
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close() // no request is in flight
	}
	c.conn = nil
}

func (c *client) exchange(request []byte) (a answer, keep bool, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return a, false, err
	}
	_, sent := c.conn.Write(request)
	// A server may respond before it has read everything.
	response, err := http.ReadResponse(&c.in, nil)
	if err != nil {
		return a, false, cmp.Or(sent, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read to its end
	a = answer{status: response.StatusCode, requestID: response.Header.Get("X-Request-Id"), retryAfter: response.Header.Get("Retry-After")}
	if c.discard {
		_, err = io.Copy(io.Discard, response.Body)
	} else {
		a.body, err = io.ReadAll(response.Body)
	}
	return a, !response.Close && sent == nil, err
}

// expect sends a request that must succeed with a status, and decodes the response
// unless into is nil.
func (c *client) expect(status int, method, target, body string, into any) {
	a, err := c.do(method, target, body)
	if err != nil {
		check(fmt.Errorf("%s %s: %w", method, target, err))
	}
	if a.status != status {
		check(fmt.Errorf("%s %s: status %d, want %d: %s", method, target, a.status, status, a.body))
	}
	if into != nil {
		check(json.Unmarshal(a.body, into))
	}
}

// resource has the fields that the runs read of a site, a page, an app, a
// publish or an audit entry.
type resource struct {
	ID, Title, Key, Pathname string
	SiteID, Type             string              // of an event
	RequestID                string              // of an audit entry
	Resource                 struct{ ID string } // likewise
}

// list reads a list page by page, until its end or until the function returns
// false. The target has a query.
func (c *client) list(target string, page func([]resource) (more bool)) {
	for after := ""; ; {
		var list struct {
			Data    []resource
			HasMore bool
		}
		c.expect(200, "GET", target+"&limit=100"+after, "", &list)
		if !page(list.Data) || !list.HasMore {
			return
		}
		after = "&startingAfter=" + list.Data[len(list.Data)-1].ID
	}
}

// newSite creates a site and returns its id.
func (c *client) newSite(name string) string {
	var site resource
	c.expect(201, "POST", "/v2/sites", fmt.Sprintf(`{"name":%q}`, name), &site)
	return site.ID
}

// newPage creates a page and returns its id.
func (c *client) newPage(siteID, pathname, title string) string {
	var page resource
	c.expect(201, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":%q,"title":%q}`, siteID, pathname, title), &page)
	return page.ID
}

// filledSite creates a site with pages, by batches. Fields returns the JSON fields
// of a page.
func (c *client) filledSite(name string, pages int, fields func(i int) string) string {
	const batchSize = 1000
	site := c.newSite(name)
	for first := 0; first < pages; first += batchSize {
		var operations []string
		for i := first; i < min(pages, first+batchSize); i++ {
			operations = append(operations, `{"op":"create",`+fields(i)+`}`)
		}
		c.expect(200, "POST", "/v6/pages/batch", fmt.Sprintf(`{"siteId":%q,"operations":[%s]}`, site, strings.Join(operations, ",")), nil)
	}
	return site
}
