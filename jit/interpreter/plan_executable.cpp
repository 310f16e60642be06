#include "jit/interpreter/plan_executable.h"

#include <utility>

#include "jit/interpreter/code.h"
#include "jit/interpreter/lowering.h"

namespace hearth {
namespace {

// A node with its operands, uses and outputs.
constexpr size_t kBytesOfNode = 600;

class InterpretedPlan final : public PlanExecutable {
 public:
  InterpretedPlan(std::unique_ptr<const Graph> graph, std::shared_ptr<const Code> code)
      : graph_(std::move(graph)), code_(std::move(code)) {}

  const std::shared_ptr<const Code>& entry() const override { return code_; }
  const Graph& graph() const override { return *graph_; }
  BailoutRecord& bailouts() const override { return *code_->bailouts->record; }

  size_t bytes() const override {
    const Code& code = *code_;
    return sizeof(*this) + graph_->num_nodes() * kBytesOfNode +
           code.instructions.size() *
               (sizeof(Instruction) + sizeof(InstructionOrigin) + sizeof(int32_t) + sizeof(const Node*)) +
           code.operands.size() * sizeof(int32_t) + code.constants.size() * sizeof(c10::IValue) +
           (code.arenas != nullptr ? code.arenas->likely_bytes_kept() : 0);
  }

 private:
  const std::unique_ptr<const Graph> graph_;
  const std::shared_ptr<const Code> code_;
};

}  // namespace

std::unique_ptr<const PlanExecutable> CompilePlan(std::unique_ptr<const Graph> plan, const std::string& function_name,
                                                  std::shared_ptr<const Code> baseline,
                                                  std::shared_ptr<BailoutTotals> totals) {
  Lowering lowering(*plan->block(), function_name);
  lowering.BailOutTo(std::move(baseline), std::move(totals));
  return std::make_unique<const InterpretedPlan>(std::move(plan), lowering.Run());
}

}  // namespace hearth
