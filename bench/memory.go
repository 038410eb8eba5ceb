package main

// memory is what a service has in RAM, in bytes: after its start, and after
// everything that it was loaded with.
type memory struct {
	Idle   int64 `json:"idle"`
	Loaded int64 `json:"loaded"`
}

// memories reads the memory of every contestant that is a process of its own.
func (b *bench) memories() (map[string]int64, error) {
	found := map[string]int64{}
	for _, c := range b.contestants {
		if isSelf(c.service()) {
			continue
		}
		for _, pid := range c.service() {
			n, err := residentOf(pid)
			if err != nil {
				return nil, err
			}
			found[c.name()] += n
		}
	}
	return found, nil
}

// judgeMemory holds the idle memory of Galley against its target.
func judgeMemory(all map[string]memory) (verdicts []verdict) {
	for _, who := range []string{onSQLite, onPostgres} {
		if m, ok := all[who]; ok {
			t := target{"after start", "after start", who, idleMemory, "", maxIdle, 0}
			verdicts = append(verdicts, t.judge([]float64{float64(m.Idle)})...)
		}
	}
	return verdicts
}
