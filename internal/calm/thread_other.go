//go:build !linux

package calm

// Elsewhere, threads have no priorities of their own.

func thread() int { return 0 }

func onMainThread() bool { return false }

func lower(int) {}
