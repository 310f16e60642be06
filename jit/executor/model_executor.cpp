#include "jit/executor/model_executor.h"

#include <ATen/core/class_type.h>

#include <utility>

#include "jit/analysis/effects.h"
#include "jit/executor/code_builder.h"

namespace hearth {

ModelExecutor::ModelExecutor(std::shared_ptr<CompilationUnit> unit, c10::intrusive_ptr<c10::ivalue::Object> module,
                             CodeBuilder& builder, ThreadPool* pool)
    : unit_(std::move(unit)), module_(std::move(module)), pool_(pool) {
  const UnitEffects effects(*unit_);
  const auto compile = [&](torch::jit::Function* declared) {
    auto* function = static_cast<Function*>(declared);
    CodeBuilder::Compiled compiled = builder.BuildBound(*function, module_, effects);
    const bool writes = effects.WritesState(*compiled.baseline);
    return Method{function, std::move(compiled.baseline), std::move(compiled.code),
                  writes ? StateAccess::kExclusive : StateAccess::kShared};
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

void ModelExecutor::RunAsync(const Method& method, std::vector<c10::IValue> arguments,
                             std::shared_ptr<CancellationToken> token, std::function<void()> on_start,
                             Completion completion) {
  auto self = shared_from_this();
  const StateAccess access = method.access;
  gate_.Enter(access, [self, access, &method, arguments = std::move(arguments), token = std::move(token),
                       on_start = std::move(on_start), completion = std::move(completion)]() mutable {
    RunOptions options;
    options.token = std::move(token);
    options.pool = self->pool_;
    options.keep_alive = self;
    options.on_start = std::move(on_start);
    hearth::RunAsync(method.code, std::move(arguments), options,
                     [self, access, completion = std::move(completion)](c10::IValue value, std::exception_ptr error) {
                       self->gate_.Leave(access);
                       completion(std::move(value), std::move(error));
                     });
  });
}

}  // namespace hearth
