package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

// haproxyExample is what operators are given, from the folder of the sources.
const haproxyExample = "packaging/haproxy.cfg"

// Nodes and their proxy have addresses of their own on loopback, which no
// connection takes a port of: they are there again after a restart.
const (
	proxyHost = "127.0.1.100"
	nodeHost  = "127.0.1.%d"
)

// startHAProxy starts HAProxy on the example's settings, before three nodes,
// and returns where it listens.
func startHAProxy(t *trial, nodes []*server) (addr string, err error) {
	text, err := os.ReadFile(haproxyExample)
	if err != nil {
		return "", fmt.Errorf("run this in the folder of the sources: %w", err)
	}
	if addr, err = freeAddress(t, proxyHost); err != nil {
		return "", err
	}
	replace := []string{"bind :80\n", "bind " + addr + "\n", "    user haproxy\n    group haproxy\n", ""}
	for i, node := range nodes {
		replace = append(replace, fmt.Sprintf("10.0.0.1%d:8080", i+1), node.addr)
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			return "", fmt.Errorf("%s does not have %q", haproxyExample, replace[i])
		}
	}
	file := t.folder("haproxy.cfg")
	if err := os.WriteFile(file, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o600); err != nil {
		return "", err
	}
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program = "/usr/sbin/haproxy" // which is not on everybody's path
	}
	cmd := exec.Command(program, "-db", "-f", file) //nolint:noctx // the run ends it itself
	log, err := os.Create(t.folder("haproxy.log"))
	if err != nil {
		return "", err
	}
	defer func() { _ = log.Close() }() // HAProxy has its own
	cmd.Stdout, cmd.Stderr = log, log
	p, err := t.launch(cmd)
	if err != nil {
		return "", fmt.Errorf("HAProxy is missing: run 'make deps' (%w)", err)
	}
	return addr, t.waitAnswer(p, addr)
}

// waitAnswer waits until a proxy has a node to ask.
func (t *trial) waitAnswer(p *process, addr string) error {
	c := newClient(addr, "")
	defer c.close()
	for p.running() && t.ctx.Err() == nil {
		if a, err := c.do("GET", "/readyz", ""); err == nil && a.status == 200 {
			return nil
		}
		t.sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("the proxy does not answer on %s", addr)
}

// freeAddress is one that nobody listened on a moment ago.
func freeAddress(t *trial, host string) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(t.ctx, "tcp", host+":0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
