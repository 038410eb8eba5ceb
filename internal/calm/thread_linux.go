package calm

import (
	"os"
	"syscall"
)

// lowPriority is one at which work has a tenth of a processor where others
// want all of it.
const lowPriority = 10

// thread names the calling thread.
func thread() int { return syscall.Gettid() }

// onMainThread tells whether the caller runs in the thread that the process
// began with, which is named as the process is.
func onMainThread() bool { return thread() == os.Getpid() }

// lower gives a thread a lower priority. Where that is forbidden, work goes on
// as it would.
func lower(thread int) { _ = syscall.Setpriority(syscall.PRIO_PROCESS, thread, lowPriority) }
