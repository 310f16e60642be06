// What answers the calls of one method whose arguments are of one spec, in place of the baseline: Code made of an
// optimised copy of the baseline graph, which goes back to the baseline wherever it cannot go on.
//
// Immutable once made, but for its count of bailouts; shared by the cache and the runs that use it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "jit/interpreter/interpreter.h"
#include "jit/ir/graph.h"

namespace hearth {

class ExecutionPlan {
 public:
  ExecutionPlan(std::unique_ptr<const Graph> graph, std::shared_ptr<const Code> code,
                std::chrono::nanoseconds compile_time);

  const Graph& graph() const { return *graph_; }
  const std::shared_ptr<const Code>& code() const { return code_; }
  std::chrono::nanoseconds compile_time() const { return compile_time_; }
  // Guards that runs may fail.
  uint32_t num_guards() const;
  // Runs that went back to the baseline.
  uint64_t bailouts() const;
  // About what it takes beside the tensors that it shares with the model.
  size_t bytes() const;

 private:
  const std::unique_ptr<const Graph> graph_;  // its nodes' source ranges are the Code's too
  const std::shared_ptr<const Code> code_;
  const std::chrono::nanoseconds compile_time_;
};

}  // namespace hearth
