// Package server runs a handler on a port, and the work that goes on beside
// requests, until it is told to stop.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Bounds on what one connection may take.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 64 << 10

	// shutdownTimeout is how long requests under way may take to finish.
	shutdownTimeout = 20 * time.Second
)

// Listen opens a port.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
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

// ErrStopping is why a server that was told to stop is not ready.
var ErrStopping = errors.New("stopping")

// Job is work that goes on beside requests.
type Job struct {
	Name  string
	Every time.Duration
	Run   func(context.Context) error
	// AtStop runs it once more before the server ends.
	AtStop bool
}

// Server is a handler on a port.
type Server struct {
	log      *slog.Logger
	drain    time.Duration
	jobs     []Job
	stopping atomic.Bool
}

// New makes a server that does not run yet. drain is how long it goes on
// serving, not ready, once it was told to stop.
func New(log *slog.Logger, drain time.Duration, jobs ...Job) *Server {
	return &Server{log: log, drain: drain, jobs: jobs}
}

// Ready answers ErrStopping once the server was told to stop.
func (s *Server) Ready() error {
	if s.stopping.Load() {
		return ErrStopping
	}
	return nil
}

// Run serves until the context ends; then readiness goes off, requests under
// way finish, and Run returns nil.
func (s *Server) Run(ctx context.Context, listener net.Listener, handler http.Handler) error {
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listener) }()

	jobsCtx, stopJobs := context.WithCancel(ctx)
	var jobs sync.WaitGroup
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
	ticker := time.NewTicker(job.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := job.Run(ctx); err != nil && ctx.Err() == nil {
				s.log.Error("job failed", "job", job.Name, "error", err.Error())
			}
		}
	}
}

// finishTimeout bounds the last run of the jobs that want one.
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
