#include "server/telemetry/process_usage.h"

#include <unistd.h>

#include <fstream>

#include "jit/support/processor_time.h"

namespace hearth::server {

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

double ProcessorSeconds() { return TimeOf(CLOCK_PROCESS_CPUTIME_ID).count(); }

}  // namespace hearth::server
