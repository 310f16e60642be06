// For tests: keeps the one thread of a compiler from all jobs, so that what is asked for meanwhile stays queued.
#pragma once

#include <latch>
#include <limits>
#include <memory>
#include <utility>

#include "jit/executor/background_compiler.h"

namespace hearth {

class HeldCompiler {
 public:
  // Waits for the job that runs, if there is one.
  explicit HeldCompiler(const std::shared_ptr<BackgroundCompiler>& compiler) : client_(compiler) {
    CompileJob job;
    job.graph = "held";
    job.worth = [] { return std::numeric_limits<double>::infinity(); };
    job.stages.push_back({"held", [this](CompileProgress&) {
                            held_.count_down();
                            released_.wait();
                          }});
    client_.Enqueue(std::move(job));
    held_.wait();
  }
  ~HeldCompiler() { Release(); }
  HeldCompiler(const HeldCompiler&) = delete;
  HeldCompiler& operator=(const HeldCompiler&) = delete;

  // Lets the compiler go on; what it then begins with is chosen of all that is queued.
  void Release() {
    if (!released_.try_wait()) released_.count_down();
  }

 private:
  std::latch held_{1};
  std::latch released_{1};
  CompileClient client_;  // whose end waits for its job, so it is the first to end
};

}  // namespace hearth
