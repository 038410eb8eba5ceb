package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// checkEvery is how often the files of a certificate are looked at, at most.
const checkEvery = time.Second

// Certificate is a certificate in files that may be replaced while the server
// runs.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	seen    [2]fileState // of the files when they were last read
	checked time.Time
}

// fileState changes whenever a file is written.
type fileState struct {
	modified time.Time
	size     int64
}

// LoadCertificate reads a certificate and its key from PEM files.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log, checked: time.Now()}
	c.seen = c.look()
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("can't use the certificate %s with the key %s: %w", certFile, keyFile, err)
	}
	c.current = &pair
	return c, nil
}

// Get is the certificate as it is in the files now. While they can't be used,
// it is the last one that could.
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
	found := c.look()
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

// look tells the state of both files. A file that is not there has none, which
// is a change too.
func (c *Certificate) look() (found [2]fileState) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			found[i] = fileState{info.ModTime(), info.Size()}
		}
	}
	return found
}
