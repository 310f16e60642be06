#include "jit/executor/execution_plan.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "jit/definitions/node_effects.h"
#include "jit/fuser/runtime/fused_kernel.h"
#include "jit/interpreter/interpreter.h"
#include "jit/ir/graph.h"

namespace hearth {
namespace {

// So many failures, in one call of so many, are too many for a plan.
constexpr uint64_t kLeastFailures = 8;
constexpr uint64_t kCallsOfFailure = 20;

bool AreTooMany(uint64_t failures, uint64_t calls) {
  return failures >= kLeastFailures && failures * kCallsOfFailure > calls;
}

std::string NamesOf(std::span<Value* const> values) {
  std::string names;
  for (const Value* value : values) names.append(names.empty() ? "%" : ", %").append(value->name());
  return names;
}

void AddKernels(const Block& block, std::vector<ExecutionPlan::Kernel>& kernels) {
  for (const Node* node : block) {
    for (const Block* inner : node->blocks()) AddKernels(*inner, kernels);
    const c10::IValue* constant = node->inputs().empty() ? nullptr : ConstantOf(*node->input(0));
    const fuser::FusedKernel* fused = constant == nullptr ? nullptr : fuser::FusedKernel::Unwrap(*constant);
    if (fused == nullptr) continue;
    auto kernel = std::ranges::find(kernels, fused->text(), &ExecutionPlan::Kernel::text);
    if (kernel == kernels.end()) {
      kernel = kernels.insert(
          kernel, {.text = fused->text(), .bytes = fused->code().bytes, .set_aside = fused->code().set_aside});
    }
    kernel->results.push_back(NamesOf(node->outputs()));
  }
}

}  // namespace

ExecutionPlan::ExecutionPlan(std::unique_ptr<const PlanExecutable> executable, std::chrono::nanoseconds compile_time,
                             const Origin& origin)
    : executable_(std::move(executable)),
      compile_time_(compile_time),
      origin_(origin),
      has_kernels_(!kernels().empty()) {}

uint32_t ExecutionPlan::num_guards() const { return static_cast<uint32_t>(executable_->bailouts().guards().size()); }

std::vector<ExecutionPlan::Guard> ExecutionPlan::guards() const {
  const BailoutRecord& bailouts = executable_->bailouts();
  std::vector<Guard> guards;
  for (const GuardInfo& guard : bailouts.guards()) {
    guards.push_back({guard.claim, PlaceOf(guard.range), bailouts.failures(guards.size())});
  }
  return guards;
}

std::vector<ExecutionPlan::Kernel> ExecutionPlan::kernels() const {
  std::vector<Kernel> kernels;
  AddKernels(*executable_->graph().block(), kernels);
  return kernels;
}

bool ExecutionPlan::speculates() const {
  return std::ranges::any_of(executable_->bailouts().guards(),
                             [](const GuardInfo& guard) { return guard.number >= 0; });
}

bool ExecutionPlan::NeedsDeoptimisation() const {
  const BailoutRecord& bailouts = executable_->bailouts();
  uint64_t failures = 0;
  for (size_t i = 0; i < bailouts.guards().size(); ++i) {
    if (bailouts.guards()[i].number >= 0) failures += bailouts.failures(i);
  }
  return AreTooMany(failures, calls());
}

bool ExecutionPlan::IsMistaken() const { return AreTooMany(executable_->bailouts().plan_exceptions(), calls()); }

void RecordRuns(const ExecutionPlan& plan, std::vector<c10::IValue> arguments, size_t own, const c10::Stream& made_on,
                const std::shared_ptr<CancellationToken>& token) {
  const BailoutRecord& bailouts = plan.executable().bailouts();
  const auto run = [&](std::vector<c10::IValue> given, const c10::Stream& stream) {
    RunOptions options;
    options.token = token;
    options.stream = stream;
    options.stays_in_plan = true;
    const uint64_t before = bailouts.count();
    c10::IValue answer = Run(*plan.executable().entry(), std::move(given), options);
    // The baseline would be recorded in the plan's place.
    if (bailouts.count() != before) throw std::runtime_error("runs leave the plan for the baseline");
    return answer;
  };
  plan.captured()->Record(run, std::move(arguments), own, made_on);
}

std::vector<size_t> ExecutionPlan::FailedSites() const {
  const BailoutRecord& bailouts = executable_->bailouts();
  std::vector<size_t> failed;
  for (size_t i = 0; i < bailouts.guards().size(); ++i) {
    const int64_t number = bailouts.guards()[i].number;
    if (number >= 0 && bailouts.failures(i) > 0) failed.push_back(static_cast<size_t>(number));
  }
  return failed;
}

}  // namespace hearth
