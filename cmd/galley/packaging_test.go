package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const unitFile = "../../packaging/galley.service"

// directives are those that the unit uses and that systemd is known to have:
// what stands in for systemd's own judgement where it is not installed.
var directives = strings.Fields(`Description Wants After User Group EnvironmentFile Environment ExecStart Restart RestartSec TimeoutStopSec
	KillSignal StateDirectory StateDirectoryMode UMask LimitNOFILE AmbientCapabilities CapabilityBoundingSet NoNewPrivileges ProtectSystem
	ProtectHome PrivateTmp PrivateDevices ProtectClock ProtectControlGroups ProtectHostname ProtectKernelLogs ProtectKernelModules
	ProtectKernelTunables ProtectProc LockPersonality MemoryDenyWriteExecute RemoveIPC RestrictAddressFamilies RestrictNamespaces
	RestrictRealtime RestrictSUIDSGID SystemCallArchitectures SystemCallFilter SystemCallErrorNumber WantedBy`)

var unitLine = regexp.MustCompile(`^(#.*|\[(Unit|Service|Install)\]|([A-Za-z]+)=\S.*)?$`)

func TestUnitHasKnownDirectives(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	known := " " + strings.Join(directives, " ") + " "
	for line := range strings.Lines(string(unit)) {
		m := unitLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || m[3] != "" && !strings.Contains(known, " "+m[3]+" ") {
			t.Errorf("not a line of a unit: %q", line)
		}
	}
	for _, line := range []string{
		"User=galley", "StateDirectory=galley", "ProtectSystem=strict", "NoNewPrivileges=yes", "Restart=on-failure", "LimitNOFILE=65536",
		"ExecStart=/usr/local/bin/galley serve", "Environment=GALLEY_DATA=/var/lib/galley",
	} {
		if !strings.Contains(string(unit), "\n"+line+"\n") {
			t.Errorf("the unit does not have %s", line)
		}
	}
}

func TestSystemdTakesTheUnit(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd is not installed here: its directives are checked by name alone")
		return
	}
	unit, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	// It looks whether the program is there.
	installed := filepath.Join(t.TempDir(), "galley.service")
	text := strings.Replace(string(unit), "ExecStart=/usr/local/bin/galley", "ExecStart="+binary, 1)
	if err := os.WriteFile(installed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "verify", installed).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}
