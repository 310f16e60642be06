#include "jit/executor/background_thread.h"

#include <sys/resource.h>

namespace hearth {

void TakeLeastPriority() { setpriority(PRIO_PROCESS, 0, 19); }

}  // namespace hearth
