#include "jit/executor/code_builder.h"

#include <ATen/core/class_type.h>

#include <string>
#include <utility>

#include "jit/compiler/compilation.h"
#include "jit/ir/symbols.h"
#include "jit/passes/pipelines.h"
#include "jit/support/load_budget.h"
#include "jit/support/logging.h"

namespace hearth {
namespace {

std::shared_ptr<const Code> Compile(const Graph& baseline, const Function& function) {
  static spdlog::logger& log = LoggerOf("executor/code_builder");
  const LoadBudget::Activity lowering("making the code of ", function.qualname().qualifiedName());
  std::shared_ptr<const Code> code = CompileCode(baseline, function.name());
  if (log.should_log(spdlog::level::debug)) {
    log.debug("code of {}:\n{}", function.qualname().qualifiedName(), DumpCode(*code));
  }
  return code;
}

}  // namespace

std::unique_ptr<Graph> CodeBuilder::Baseline(Function& function, c10::intrusive_ptr<c10::ivalue::Object> self,
                                             const UnitEffects* effects) const {
  const LoadBudget::Activity optimizing("optimizing ", function.qualname().qualifiedName());
  CompilationInputs inputs;
  inputs.effects = effects;
  inputs.self = std::move(self);
  inputs.literal_device = device_;
  Compilation compilation(function.emitted_graph(), std::move(inputs));
  BuildBaseline(compilation);
  return compilation.TakeGraph();
}

std::shared_ptr<const Code> CodeBuilder::Build(const Graph& baseline, const Function& function) {
  FindCallees(*baseline.block());
  Drain();
  return Compile(baseline, function);
}

void CodeBuilder::BuildUnbound(Function& function) {
  Enqueue(&function);
  Drain();
}

void CodeBuilder::Drain() {
  while (!queue_.empty()) {
    Function* function = queue_.back();
    queue_.pop_back();
    const std::unique_ptr<Graph> baseline = Baseline(*function);
    SetCode(*function, Compile(*baseline, *function));
    FindCallees(*baseline->block());
  }
}

void CodeBuilder::Enqueue(torch::jit::Function* function) {
  if (!function->isGraphFunction() || !seen_.insert(function).second) return;
  queue_.push_back(static_cast<Function*>(function));
}

void CodeBuilder::FindCallees(const Block& block) {
  for (const Node* node : block) {
    LoadBudget::Check();
    if (node->kind() == sym::kCallFunction) {
      Enqueue(node->attribute<torch::jit::Function*>(sym::kFunctionAttr));
    } else if (node->kind() == sym::kCallMethod) {
      FindMethods(node->input(0)->type(), node->attribute<std::string>(sym::kNameAttr));
    } else if (node->kind() == sym::kWith) {
      FindMethods(node->input(0)->type(), "__enter__");
      FindMethods(node->input(0)->type(), "__exit__");
    } else if (node->kind() == sym::kCreateObject) {
      // LibTorch calls it back when a list of such objects is sorted.
      FindMethods(node->output()->type(), "__lt__");
    }
    for (const Block* nested : node->blocks()) FindCallees(*nested);
  }
}

void CodeBuilder::FindMethods(const c10::TypePtr& receiver, const std::string& name) {
  if (auto type = receiver->cast<c10::ClassType>()) {
    if (torch::jit::Function* method = FindMethod(*type, name)) Enqueue(method);
    return;
  }
  // An interface: whatever class of the unit has such a method may stand behind it.
  for (const c10::NamedTypePtr& candidate : unit_.types()) {
    auto type = candidate->cast<c10::ClassType>();
    if (!type) continue;
    if (torch::jit::Function* method = FindMethod(*type, name)) Enqueue(method);
  }
}

}  // namespace hearth
