#include "jit/executor/execution_plan.h"

#include <algorithm>
#include <utility>

#include "jit/interpreter/code.h"

namespace hearth {
namespace {

// A node with its operands, uses and outputs.
constexpr size_t kBytesOfNode = 600;

// So many failures, in one call of so many, are too many for a plan.
constexpr uint64_t kLeastFailures = 8;
constexpr uint64_t kCallsOfFailure = 20;

bool AreTooMany(uint64_t failures, uint64_t calls) {
  return failures >= kLeastFailures && failures * kCallsOfFailure > calls;
}

// "model.py:12", of the user's own file where the archive tells.
std::string PlaceOf(const SourceRange& range) {
  if (range.source == nullptr) return "";
  OriginalLocation original;
  if (const OriginalLocations* originals = range.source->originals();
      originals != nullptr && originals->Find(range.begin, &original) && !original.file.empty()) {
    return original.file + ":" + std::to_string(original.line());
  }
  return range.source->name() + ":" + std::to_string(range.source->PositionOf(range.begin).line);
}

}  // namespace

ExecutionPlan::ExecutionPlan(std::unique_ptr<const Graph> graph, std::shared_ptr<const Code> code,
                             std::chrono::nanoseconds compile_time, const Origin& origin)
    : graph_(std::move(graph)), code_(std::move(code)), compile_time_(compile_time), origin_(origin) {}

uint32_t ExecutionPlan::num_guards() const { return static_cast<uint32_t>(code_->bailouts->guards.size()); }

std::vector<ExecutionPlan::Guard> ExecutionPlan::guards() const {
  const Bailouts& bailouts = *code_->bailouts;
  std::vector<Guard> guards;
  for (size_t i = 0; i < bailouts.guards.size(); ++i) {
    const GuardInfo& guard = bailouts.guards[i];
    guards.push_back({guard.claim, PlaceOf(guard.range), bailouts.failures[i].load(std::memory_order_relaxed)});
  }
  return guards;
}

bool ExecutionPlan::takes_for_granted() const {
  return std::ranges::any_of(code_->bailouts->guards, [](const GuardInfo& guard) { return guard.number >= 0; });
}

bool ExecutionPlan::IsRefuted() const {
  const Bailouts& bailouts = *code_->bailouts;
  uint64_t failures = 0;
  for (size_t i = 0; i < bailouts.guards.size(); ++i) {
    if (bailouts.guards[i].number >= 0) failures += bailouts.failures[i].load(std::memory_order_relaxed);
  }
  return AreTooMany(failures, calls());
}

bool ExecutionPlan::IsMistaken() const {
  return AreTooMany(code_->bailouts->mistakes.load(std::memory_order_relaxed), calls());
}

std::vector<size_t> ExecutionPlan::Refuted() const {
  const Bailouts& bailouts = *code_->bailouts;
  std::vector<size_t> refuted;
  for (size_t i = 0; i < bailouts.guards.size(); ++i) {
    if (bailouts.guards[i].number < 0 || bailouts.failures[i].load(std::memory_order_relaxed) == 0) continue;
    refuted.push_back(static_cast<size_t>(bailouts.guards[i].number));
  }
  return refuted;
}

uint64_t ExecutionPlan::bailouts() const { return code_->bailouts->count.load(std::memory_order_relaxed); }

size_t ExecutionPlan::bytes() const {
  const Code& code = *code_;
  return sizeof(*this) + graph_->num_nodes() * kBytesOfNode +
         code.instructions.size() * (sizeof(Instruction) + sizeof(InstructionOrigin) + sizeof(int32_t)) +
         code.operands.size() * sizeof(int32_t) + code.constants.size() * sizeof(c10::IValue) +
         (code.arenas != nullptr ? Arenas::kMost * code.arenas->layout().likely_bytes : 0);
}

}  // namespace hearth
