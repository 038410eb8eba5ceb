// Package server runs a handler on a port, and jobs beside it, until it is
// stopped.
package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Deadlines bound the time that one connection may take.
type Deadlines struct {
	Header time.Duration // from the first byte of a request to the end of its headers, and for the TLS handshake
	Body   time.Duration // from the first byte of a request to the end of its body
	Write  time.Duration // from the end of a request's headers to the end of its response
	Idle   time.Duration // between requests
}

const (
	maxHeaderBytes = 32 << 10

	// shutdownTimeout bounds the time that requests in flight may take to finish.
	shutdownTimeout = 20 * time.Second
)

// Listen opens a port.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, network(addr), addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("can't listen on %s: the port is in use, choose another with --addr", addr)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("can't listen on %s: not permitted, choose a port above 1023 with --addr", addr)
	case err != nil:
		return nil, fmt.Errorf("can't listen on %s: %w", addr, err)
	}
	return l, nil
}

// network returns tcp4 for an IPv4 address: with tcp, Go listens for 0.0.0.0 on
// IPv6, too.
func network(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		return "tcp4"
	}
	return "tcp"
}

// ErrStopping is why a server that stops is not ready.
var ErrStopping = errors.New("stopping")

// Job is periodic work.
type Job struct {
	Name  string
	Every time.Duration
	// First is the delay of the first run; 0: Every.
	First time.Duration
	Run   func(context.Context) error
	// AtStop runs it once more when the server stops.
	AtStop bool
}

// Server is a handler on a port. Its exported fields are set before it runs.
type Server struct {
	Deadlines Deadlines
	// TLS is the configuration of TLS; nil: plain HTTP.
	TLS *tls.Config
	// ConnContext returns the context of a connection's requests; nil: the same.
	ConnContext func(context.Context, net.Conn) context.Context
	// MaxConnections bounds the open connections; 0: no bound.
	MaxConnections int
	// Check reports whether the server's dependencies work. It runs twice a
	// second, and Ready returns its last result; nil: there are none.
	Check func(context.Context) error

	log      *slog.Logger
	drain    time.Duration
	jobs     []Job
	stopping atomic.Bool
	checked  atomic.Pointer[error]
	open     atomic.Int64
}

// New creates a server. drain is how long it continues to serve, but is not
// ready, after its context ends.
func New(log *slog.Logger, drain time.Duration, jobs ...Job) *Server {
	return &Server{
		Deadlines: Deadlines{Header: 5 * time.Second, Body: 60 * time.Second, Write: 60 * time.Second, Idle: 120 * time.Second},
		log:       log, drain: drain, jobs: jobs,
	}
}

// Connections returns the number of open connections.
func (s *Server) Connections() int { return int(s.open.Load()) }

// Crowded reports whether connections should be closed after their request: more
// than half of MaxConnections are open, or the server stops. A proxy that sends a
// request on a connection that is being closed can't know whether it was
// processed.
func (s *Server) Crowded() bool {
	return s.stopping.Load() || s.MaxConnections > 0 && s.Connections() > s.MaxConnections/2
}

// Ready returns ErrStopping once the server stops, and else the result of the
// last Check.
func (s *Server) Ready() error {
	if s.stopping.Load() {
		return ErrStopping
	}
	if err := s.checked.Load(); err != nil {
		return *err
	}
	return nil
}

const (
	checkInterval = 500 * time.Millisecond
	checkTimeout  = 2 * time.Second
)

// check runs Check and stores its result.
func (s *Server) check(ctx context.Context) error {
	attempt, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := s.Check(attempt)
	if ctx.Err() != nil {
		return nil // the server stops
	}
	if before := s.checked.Swap(&err); err != nil && (before == nil || *before == nil) {
		s.log.Warn("not ready", "error", err.Error())
	}
	return nil
}

// Run serves until the context ends. Then the server is no longer ready, requests
// in flight finish, and Run returns nil.
func (s *Server) Run(ctx context.Context, listener net.Listener, handler http.Handler) error {
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: s.Deadlines.Header,
		ReadTimeout:       s.Deadlines.Body,
		WriteTimeout:      s.Deadlines.Write,
		IdleTimeout:       s.Deadlines.Idle,
		MaxHeaderBytes:    maxHeaderBytes,
		TLSConfig:         s.TLS,
		ConnContext:       s.ConnContext,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		// "OPTIONS *" is handled like any other request.
		DisableGeneralOptionsHandler: true,
	}
	failed := make(chan error, 1)
	go func() { failed <- s.serve(srv, listener) }()

	jobsCtx, stopJobs := context.WithCancel(ctx)
	var jobs sync.WaitGroup
	if s.Check != nil {
		jobs.Go(func() { s.repeat(jobsCtx, Job{Every: checkInterval, First: 1, Run: s.check}) })
	}
	for _, job := range s.jobs {
		jobs.Go(func() { s.repeat(jobsCtx, job) })
	}

	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = s.stop(srv)
	}
	stopJobs()
	jobs.Wait()
	s.finishJobs()
	return err
}

func (s *Server) serve(srv *http.Server, listener net.Listener) error {
	most := s.MaxConnections
	if most == 0 {
		most = math.MaxInt
	}
	limited := newLimitListener(listener, most, &s.open)
	if s.TLS == nil {
		return srv.Serve(limited)
	}
	return srv.ServeTLS(limited, "", "") // the configuration has the certificate
}

func (s *Server) stop(srv *http.Server) error {
	s.stopping.Store(true)
	s.log.Info("stopping")
	time.Sleep(s.drain)
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		s.log.Warn("some requests did not finish in time", "error", err.Error())
		return srv.Close()
	}
	return nil
}

func (s *Server) repeat(ctx context.Context, job Job) {
	next := time.NewTimer(cmp.Or(job.First, job.Every))
	defer next.Stop()
	var logged time.Time // when a failure was logged; zero: the job works
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		next.Reset(job.Every)
		switch err := job.Run(ctx); {
		case ctx.Err() != nil:
		case err == nil && !logged.IsZero():
			s.log.Info("job works again", "job", job.Name)
			logged = time.Time{}
		case err != nil && time.Since(logged) > logAgain:
			s.log.Error("job failed", "job", job.Name, "error", err.Error())
			logged = time.Now()
		}
	}
}

// logAgain is how often the failures of a job are logged.
const logAgain = time.Minute

// finishTimeout bounds the last run of jobs with AtStop.
const finishTimeout = 5 * time.Second

func (s *Server) finishJobs() {
	ctx, cancel := context.WithTimeout(context.Background(), finishTimeout)
	defer cancel()
	for _, job := range s.jobs {
		if !job.AtStop {
			continue
		}
		if err := job.Run(ctx); err != nil {
			s.log.Error("job failed", "job", job.Name, "error", err.Error())
		}
	}
}
