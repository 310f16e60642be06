#include "jit/executor/model_executor.h"

#include <ATen/core/class_type.h>

#include <algorithm>
#include <utility>

#include "jit/analysis/effects.h"
#include "jit/executor/code_builder.h"
#include "jit/ir/graph.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

bool IsStraight(const Block& block) {
  constexpr auto goes_elsewhere = [](c10::Symbol kind) {
    return kind == sym::kLoop || kind == sym::kFork || kind == sym::kAwaitable || kind == sym::kCallFunction ||
           kind == sym::kCallMethod;
  };
  for (const Node* node : block) {
    if (goes_elsewhere(node->kind())) return false;
    if (!std::ranges::all_of(node->blocks(), [](const Block* inner) { return IsStraight(*inner); })) return false;
  }
  return true;
}

}  // namespace

ModelExecutor::ModelExecutor(std::shared_ptr<CompilationUnit> unit, c10::intrusive_ptr<c10::ivalue::Object> module,
                             CodeBuilder& builder, ThreadPool* pool)
    : unit_(std::move(unit)), module_(std::move(module)), pool_(pool) {
  const UnitEffects effects(*unit_);
  const auto compile = [&](torch::jit::Function* declared) {
    auto* function = static_cast<Function*>(declared);
    CodeBuilder::Compiled compiled = builder.BuildBound(*function, module_, effects);
    const bool writes = effects.WritesState(*compiled.baseline);
    writes_state_ |= writes;
    const bool straight = IsStraight(*compiled.baseline->block());
    return Method{function, std::move(compiled.baseline), std::move(compiled.code),
                  writes ? StateAccess::kExclusive : StateAccess::kShared, straight};
  };
  const c10::ClassTypePtr type = module_->type();
  for (torch::jit::Function* method : type->methods()) methods_.push_back(compile(method));
  for (const auto& hooks : {type->getForwardPreHooks(), type->getForwardHooks()}) {
    for (torch::jit::Function* hook : hooks) {
      if (FindHook(*hook) == nullptr) hooks_.push_back(compile(hook));
    }
  }
}

const ModelExecutor::Method* ModelExecutor::Find(std::string_view name) const {
  for (const Method& method : methods_) {
    if (method.name() == name) return &method;
  }
  return nullptr;
}

const ModelExecutor::Method* ModelExecutor::FindHook(const torch::jit::Function& hook) const {
  for (const Method& known : hooks_) {
    if (known.function == &hook) return &known;
  }
  return nullptr;
}

void ModelExecutor::RunAsync(const Method& method, std::vector<c10::IValue> arguments, CallSettings settings,
                             Completion completion) {
  const StateAccess access = method.access;
  const bool may_run_here = settings.may_run_here && method.straight && access == StateAccess::kShared;
  auto start = [self = shared_from_this(), access, &method, arguments = std::move(arguments),
                settings = std::move(settings), completion = std::move(completion)](bool here) mutable {
    RunOptions options;
    options.token = std::move(settings.token);
    options.pool = self->pool_;
    options.keep_alive = self;
    options.on_start = std::move(settings.on_start);
    options.stream = settings.stream;
    options.begin_here = here;
    auto end = [self, access, completion = std::move(completion)](c10::IValue value, std::exception_ptr error) {
      // The answer may be part of the module's state: the next writer waits until it has been taken.
      completion(std::move(value), std::move(error));
      self->gate_.Leave(access);
    };
    hearth::RunAsync(method.code, std::move(arguments), std::move(options), std::move(end));
  };
  if (gate_.TryEnter(access)) return start(may_run_here);
  // A run that must wait its turn is started by whichever thread ends the run before it, which has its own work.
  gate_.Enter(access, [start = std::move(start)]() mutable { start(false); });
}

}  // namespace hearth
