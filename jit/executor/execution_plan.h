// What answers the calls of one method whose arguments are of one spec, in place of the baseline: Code made of an
// optimised copy of the baseline graph, which goes back to the baseline wherever it cannot go on.
//
// Immutable once made, but for its count of bailouts; shared by the cache and the runs that use it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/interpreter/interpreter.h"
#include "jit/ir/graph.h"

namespace hearth {

class ExecutionPlan {
 public:
  struct Origin {
    size_t questions = 0;       // how many values would be guarded if a profile said so
    uint64_t calls_before = 0;  // of its spec, when it was made
  };
  ExecutionPlan(std::unique_ptr<const Graph> graph, std::shared_ptr<const Code> code,
                std::chrono::nanoseconds compile_time, const Origin& origin);

  const Graph& graph() const { return *graph_; }
  const std::shared_ptr<const Code>& code() const { return code_; }
  std::chrono::nanoseconds compile_time() const { return compile_time_; }
  size_t questions() const { return origin_.questions; }
  // Guards that runs may fail.
  uint32_t num_guards() const;
  struct Guard {
    std::string claim;  // what it checks, in words; empty where no profile asked for it
    std::string where;  // "model.py:12"; empty where that is not known
    uint64_t failures = 0;
  };
  std::vector<Guard> guards() const;
  // Whether a profile asked for some of them.
  bool takes_for_granted() const;
  // Whether they fail so often that a plan without those would be better, by `calls` of its spec in all.
  bool IsRefuted(uint64_t calls) const;
  // The numbers of the values whose guards failed.
  std::vector<size_t> Refuted() const;
  // Runs that went back to the baseline.
  uint64_t bailouts() const;
  // About what it takes beside the tensors that it shares with the model.
  size_t bytes() const;

 private:
  const std::unique_ptr<const Graph> graph_;  // its nodes' source ranges are the Code's too
  const std::shared_ptr<const Code> code_;
  const std::chrono::nanoseconds compile_time_;
  const Origin origin_;
};

}  // namespace hearth
