#include "jit/support/background_thread.h"

#include <sys/resource.h>

#include <algorithm>

namespace hearth {
namespace {

constexpr int kNiceOfLeast = 19;
constexpr int kNicer = 5;  // than the thread was

thread_local bool in_background = false;

void Take(int nice) {
  setpriority(PRIO_PROCESS, 0, nice);
  in_background = true;
}

}  // namespace

void TakeLeastPriority() { Take(kNiceOfLeast); }
void TakeLowPriority() { Take(std::min(getpriority(PRIO_PROCESS, 0) + kNicer, kNiceOfLeast)); }
bool IsInBackground() { return in_background; }

}  // namespace hearth
