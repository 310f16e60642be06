#include "jit/executor/execution_plan.h"

#include <utility>

#include "jit/interpreter/code.h"

namespace hearth {
namespace {

// A node with its operands, uses and outputs.
constexpr size_t kBytesOfNode = 600;

}  // namespace

ExecutionPlan::ExecutionPlan(std::unique_ptr<const Graph> graph, std::shared_ptr<const Code> code,
                             std::chrono::nanoseconds compile_time)
    : graph_(std::move(graph)), code_(std::move(code)), compile_time_(compile_time) {}

uint32_t ExecutionPlan::num_guards() const { return code_->bailouts->num_guards; }

uint64_t ExecutionPlan::bailouts() const { return code_->bailouts->count.load(std::memory_order_relaxed); }

size_t ExecutionPlan::bytes() const {
  const Code& code = *code_;
  return sizeof(*this) + graph_->num_nodes() * kBytesOfNode +
         code.instructions.size() * (sizeof(Instruction) + sizeof(InstructionOrigin) + sizeof(int32_t)) +
         code.operands.size() * sizeof(int32_t) + code.constants.size() * sizeof(c10::IValue);
}

}  // namespace hearth
