// A compiler that works in the background of a benchmark, and where it does so: a thread of this process, or a helper
// process whose object files a thread of this process links.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>

namespace hearth::benchmarks {

struct Placement {
  enum class Where { kNone, kThread, kProcess };
  enum class Priority { kIdle, kNice };
  enum class Pace { kFree, kPasses, kAnywhere };

  std::string text;
  Where where = Where::kNone;
  Priority priority = Priority::kIdle;
  double share = 1;
  Pace pace = Pace::kFree;
};

// none, or WHERE:PRIORITY[:PERCENT:PACE] as compiler_placement.cpp describes it. Throws std::invalid_argument.
Placement ParsePlacement(const std::string& text);

// The helper's side: compiles and writes object files to the standard output until nobody reads them any more.
void RunHelper(const Placement& placement);

// A compiler at work from its construction, which waits for a first module that is made at full speed, to its
// destruction, which lets it end its last one so. In between it has the priority and the pace of its placement.
// Compiles and links kernels of loop_nest_compiler.h, calls each once and drops it. A helper is this very program,
// started with --helper and the placement. Whatever fails there ends the process: a benchmark without its compiler
// would measure nothing.
class PlacedCompiler {
 public:
  explicit PlacedCompiler(Placement placement);
  ~PlacedCompiler();
  PlacedCompiler(const PlacedCompiler&) = delete;
  PlacedCompiler& operator=(const PlacedCompiler&) = delete;

  // Modules linked, called and dropped again.
  uint64_t modules() const { return modules_; }
  // Processor time of all that compiles and links.
  double cpu_seconds() const;
  // Of a thread: the most processor time that it took between two passes, where it may rest; 0 of a helper.
  double longest_stretch() const;

 private:
  void CompileHere(const std::stop_token& stop);
  void StartHelper();
  void LinkFromHelper(const std::stop_token& stop);
  void Count();

  Placement placement_;
  std::atomic<uint64_t> modules_{0};
  std::atomic<pid_t> tid_{0};
  pid_t helper_ = 0;
  int objects_ = -1;
  clockid_t thread_clock_{}, helper_clock_{};
  std::jthread thread_;
};

}  // namespace hearth::benchmarks
