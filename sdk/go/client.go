package galley

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client calls a Galley server. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	http    *http.Client
	headers http.Header
	retries int
	pause   time.Duration

	Apps       *Apps
	Audit      *Audit
	Content    *Content
	Events     *Events
	Locales    *Locales
	Operations *Operations
	Pages      *Pages
	Previews   *Previews
	Publishes  *Publishes
	Redirects  *Redirects
	Routes     *Routes
	Runtime    *Runtime
	Sites      *Sites
	Webhooks   *Webhooks
}

// Option is a setting of a client.
type Option func(*Client)

// WithKey sets the key: an App key, a Site key or the token of a preview.
func WithKey(key string) Option {
	return func(c *Client) { c.headers.Set("X-Api-Key", key) }
}

// WithActor names the person for whom the program writes, for the audit trail.
func WithActor(name string) Option {
	return func(c *Client) { c.headers.Set("X-Actor", name) }
}

// WithUserAgent sets the User-Agent header.
func WithUserAgent(agent string) Option {
	return func(c *Client) { c.headers.Set("User-Agent", agent) }
}

// WithHTTPClient sets the HTTP client, which has a timeout of a minute otherwise.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithRetries sets how often a request is sent again, 5 times otherwise, and the first
// pause, 200 ms otherwise. Each pause is twice the one before, and up to half of it is left
// to chance; a longer Retry-After is kept.
func WithRetries(n int, pause time.Duration) Option {
	return func(c *Client) { c.retries, c.pause = n, pause }
}

const (
	defaultTimeout = time.Minute
	defaultRetries = 5
	defaultPause   = 200 * time.Millisecond
	maxPause       = 30 * time.Second

	maxIdleConnections = 16
)

// New returns a client of the server at an address such as http://127.0.0.1:8080.
func New(baseURL string, options ...Option) (*Client, error) {
	base, err := url.Parse(strings.TrimSuffix(baseURL, "/"))
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("galley: %q is no URL of a server", baseURL)
	}
	c := &Client{
		base: base, http: newHTTPClient(), headers: http.Header{"User-Agent": {"galley-go"}},
		retries: defaultRetries, pause: defaultPause,
	}
	for _, option := range options {
		option(c)
	}
	c.Apps, c.Audit, c.Content, c.Locales = &Apps{c}, &Audit{c}, &Content{c}, &Locales{c}
	c.Operations, c.Pages, c.Previews, c.Publishes = &Operations{c}, &Pages{c}, &Previews{c}, &Publishes{c}
	c.Redirects, c.Routes, c.Runtime, c.Sites = &Redirects{c}, &Routes{c}, &Runtime{c}, &Sites{c}
	c.Events, c.Webhooks = &Events{c}, &Webhooks{c}
	return c, nil
}

// newHTTPClient returns an HTTP client that keeps more than the usual two connections open
// to the one server that it calls.
func newHTTPClient() *http.Client {
	c := &http.Client{Timeout: defaultTimeout}
	if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = transport.Clone()
		transport.MaxIdleConnsPerHost = maxIdleConnections
		c.Transport = transport
	}
	return c
}

// RequestOption is a setting of one call.
type RequestOption func(*call)

// IfMatch makes a write fail with ErrPreconditionFailed unless the resource still has the
// entity tag.
func IfMatch(etag string) RequestOption {
	return func(c *call) { c.header.Set("If-Match", etag) }
}

// IfNoneMatch makes a write of content fail with ErrPreconditionFailed if there is some
// ("*").
func IfNoneMatch(etag string) RequestOption {
	return func(c *call) { c.header.Set("If-None-Match", etag) }
}

// IdempotencyKey replaces the random key of a POST, for programs that repeat a call after
// a restart.
func IdempotencyKey(key string) RequestOption {
	return func(c *call) { c.header.Set("Idempotency-Key", key) }
}

// Actor names the person for whom the program writes, for one call.
func Actor(name string) RequestOption {
	return func(c *call) { c.header.Set("X-Actor", name) }
}

// ETag stores the entity tag of the response, for IfMatch.
func ETag(etag *string) RequestOption { return func(c *call) { c.etag = etag } }

// Body stores the body of the response as the server sent it, or each event of a stream.
func Body(body *[]byte) RequestOption { return func(c *call) { c.raw = body } }

// call is a request before it is sent.
type call struct {
	method string
	path   string // escaped
	query  url.Values
	header http.Header
	etag   *string
	raw    *[]byte
}

// path joins segments, each escaped.
func path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String()
}

// send calls the server and decodes its response.
func send[T any](ctx context.Context, c *Client, method, path string, query url.Values, body any, options []RequestOption) (result T, err error) {
	raw, err := c.do(ctx, method, path, query, body, options)
	if err != nil {
		return result, err
	}
	if text, ok := any(&result).(*[]byte); ok {
		*text = raw
		return result, nil
	}
	if len(raw) == 0 {
		return result, nil
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return result, fmt.Errorf("galley: %s %s: the response is not understood: %w", method, path, err)
	}
	return result, nil
}

// get is send for reads.
func get[T any](ctx context.Context, c *Client, path string, query any, options []RequestOption) (T, error) {
	return send[T](ctx, c, http.MethodGet, path, values(query), nil, options)
}

func post[T any](ctx context.Context, c *Client, path string, body any, options []RequestOption) (T, error) {
	return send[T](ctx, c, http.MethodPost, path, nil, body, options)
}

// do sends a request until there is a response that a repetition would not change.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body any, options []RequestOption) ([]byte, error) {
	call := call{method: method, path: path, query: query, header: c.headers.Clone()}
	if method == http.MethodPost {
		call.header.Set("Idempotency-Key", rand.Text())
	}
	for _, option := range options {
		option(&call)
	}
	text, err := encode(body)
	if err != nil {
		return nil, fmt.Errorf("galley: %s %s: %w", method, path, err)
	}
	if text != nil {
		call.header.Set("Content-Type", "application/json")
	}
	lost := false // the response of an earlier attempt: the server may have done it
	for attempt := 0; ; attempt++ {
		response, err := c.attempt(ctx, &call, text)
		if err == nil {
			return response, nil
		}
		var failed *Error
		isError := errors.As(err, &failed)
		if lost && method == http.MethodDelete && errors.Is(err, ErrNotFound) {
			return nil, nil // the attempt whose response was lost has deleted it
		}
		again := !isError || failed.Code == CodeTooManyRequests || failed.Code == CodeUnavailable
		if !isError && call.header.Get("If-Match") != "" {
			again = false // the lost attempt may have changed the entity tag
		}
		if !again || attempt >= c.retries || ctx.Err() != nil {
			return nil, err
		}
		lost = lost || !isError || failed.Status == http.StatusBadGateway || failed.Status == http.StatusGatewayTimeout
		if err := wait(ctx, c.backoff(attempt, err)); err != nil {
			return nil, err
		}
	}
}

// encode encodes a body as JSON. Content is kept letter for letter, so < and its like are
// not escaped.
func encode(body any) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(body)
	return b.Bytes(), err
}

func (c *Client) backoff(attempt int, err error) time.Duration {
	pause := min(c.pause<<attempt, maxPause)
	if pause > 0 {
		pause -= mathrand.N(pause/2 + 1)
	}
	var failed *Error
	if errors.As(err, &failed) {
		pause = max(pause, failed.RetryAfter)
	}
	return pause
}

func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// attempt sends a request once. Any other error than that of the service means that the
// response was lost.
func (c *Client) attempt(ctx context.Context, call *call, body []byte) ([]byte, error) {
	target := c.base.String() + call.path
	if len(call.query) > 0 {
		target += "?" + call.query.Encode()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, call.method, target, reader)
	if err != nil {
		return nil, fmt.Errorf("galley: %w", err)
	}
	r.Header = call.header
	response, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("galley: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("galley: %s %s: %w", call.method, call.path, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, newError(response, text)
	}
	if call.etag != nil {
		*call.etag = response.Header.Get("ETag")
	}
	if call.raw != nil {
		*call.raw = text
	}
	return text, nil
}
