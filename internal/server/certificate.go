package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// checkEvery is how often the files of a certificate are checked, at most.
const checkEvery = time.Second

// Certificate is a certificate whose files may be replaced while the server runs.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	seen    string // the state of the files when they were last read
	checked time.Time
}

// LoadCertificate reads a certificate and its key from PEM files.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log, checked: time.Now()}
	c.seen = c.state()
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("can't use the certificate %s with the key %s: %w", certFile, keyFile, err)
	}
	c.current = &pair
	return c, nil
}

// Get returns the certificate in the files, or the last valid one.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= checkEvery {
		c.checked = now
		c.refresh()
	}
	return c.current, nil
}

func (c *Certificate) refresh() {
	found := c.state()
	if found == c.seen {
		return
	}
	c.seen = found
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		c.log.Error("the new certificate can't be used, the old one stays", "certificate", c.certFile, "key", c.keyFile, "error", err.Error())
		return
	}
	c.current = &pair
	c.log.Info("the certificate was renewed", "certificate", c.certFile, "until", pair.Leaf.NotAfter)
}

// state changes whenever one of the files is written, created or removed.
func (c *Certificate) state() string {
	var state strings.Builder
	for _, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			_, _ = fmt.Fprintln(&state, name, info.ModTime().UnixNano(), info.Size())
		}
	}
	return state.String()
}
