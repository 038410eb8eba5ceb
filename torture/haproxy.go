package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// haproxyExample is what operators are given, from the folder of the sources.
const haproxyExample = "packaging/haproxy.cfg"

// Nodes and their proxy have addresses of their own on loopback, which no
// outgoing connection uses: they are free again after a restart.
const (
	proxyHost = "127.0.1.100"
	nodeHost  = "127.0.1.%d"
)

// startHAProxy starts HAProxy on the example's settings, before three nodes,
// and returns where it listens.
func startHAProxy(t *trial, nodes []*server) (addr string) {
	text, err := os.ReadFile(haproxyExample)
	if err != nil {
		check(fmt.Errorf("run this in the folder of the sources: %w", err))
	}
	addr = t.freeAddress(proxyHost)
	replace := []string{"bind :80\n", "bind " + addr + "\n", "    user haproxy\n    group haproxy\n", ""}
	for i, node := range nodes {
		replace = append(replace, fmt.Sprintf("10.0.0.1%d:8080", i+1), node.addr)
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			check(fmt.Errorf("%s does not have %q", haproxyExample, replace[i]))
		}
	}
	file := t.folder("haproxy.cfg")
	check(os.WriteFile(file, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o600))
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program = "/usr/sbin/haproxy" // which is not on every user's path
	}
	t.waitReady(t.launch("haproxy", t.command(program, "-db", "-f", file)), addr)
	return addr
}
