#include "jit/operators/registry.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "jit/operators/effects.h"
#include "jit/operators/guards.h"
#include "jit/operators/native.h"
#include "jit/operators/plan_operators.h"

namespace hearth {
namespace {

std::string FullName(const c10::FunctionSchema& schema) {
  return schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
}

std::unordered_map<std::string_view, NativeFunction> IndexNativeOperators() {
  std::unordered_map<std::string_view, NativeFunction> index;
  for (const NativeEntry& entry : NativeOperators()) {
    const bool is_new = index.emplace(entry.name, entry.function).second;
    TORCH_INTERNAL_ASSERT(is_new, "two native functions for ", entry.name);
  }
  return index;
}

// LibTorch's boxed kernels with several results that are their own arguments (sort.values, max.dim_max) let go of the
// arguments on the stack before they copy the results from them: nobody may be without another reference then.
torch::jit::Operation OperationOf(const torch::jit::Operator& original) {
  const c10::FunctionSchema& schema = original.schema();
  const auto is_argument = [](const c10::Argument& result) {
    return result.alias_info() != nullptr && result.alias_info()->isWrite();
  };
  if (schema.returns().size() < 2 || std::ranges::none_of(schema.returns(), is_argument)) {
    return original.getOperation();
  }
  const auto num_arguments = static_cast<std::ptrdiff_t>(schema.arguments().size());
  return [operation = original.getOperation(), num_arguments](torch::jit::Stack& stack) mutable {
    const torch::jit::Stack held(stack.end() - num_arguments, stack.end());
    operation(stack);
  };
}

}  // namespace

struct OperatorRegistry::Impl {
  using Overloads = std::vector<const Operator*>;

  std::shared_mutex mutex;
  // Replaced lists stay alive in `lists`, since spans of them were handed out.
  std::unordered_map<c10::Symbol, const Overloads*> by_name;
  std::deque<Overloads> lists;
  std::deque<std::unique_ptr<Operator>> operators;
  std::unordered_map<const torch::jit::Operator*, const Operator*> known;
  const std::unordered_map<std::string_view, NativeFunction> natives = IndexNativeOperators();
};

OperatorRegistry::OperatorRegistry() : impl_(new Impl) { RegisterPlanOperators(); }

OperatorRegistry& OperatorRegistry::Global() {
  static OperatorRegistry registry;
  return registry;
}

std::span<const Operator* const> OperatorRegistry::Candidates(c10::Symbol name) {
  {
    std::shared_lock lock(impl_->mutex);
    auto found = impl_->by_name.find(name);
    if (found != impl_->by_name.end()) return *found->second;
  }
  const auto& registered = torch::jit::getAllOperatorsFor(name);

  std::unique_lock lock(impl_->mutex);
  auto found = impl_->by_name.find(name);
  if (found != impl_->by_name.end()) return *found->second;
  Impl::Overloads& list = impl_->lists.emplace_back();
  for (const std::shared_ptr<torch::jit::Operator>& original : registered) {
    const Operator*& op = impl_->known[original.get()];
    if (op == nullptr) {
      std::unique_ptr<Operator> made(new Operator());
      made->keep_alive_ = original;
      made->schema_ = &original->schema();
      made->symbol_ = name;
      made->announced_effects_ = AnnouncedEffects(*original);
      made->enumerations_ = Operator::FindEnumerations(*made->schema_);
      made->has_boxed_ = original->hasOperation();
      if (made->has_boxed_) made->operation_ = Guarded(FullName(*made->schema_), OperationOf(*original));
      auto native = impl_->natives.find(FullName(*made->schema_));
      if (native != impl_->natives.end()) made->native_ = native->second;
      op = made.get();
      impl_->operators.push_back(std::move(made));
    }
    list.push_back(op);
  }
  impl_->by_name.emplace(name, &list);
  return list;
}

const Operator* OperatorRegistry::Find(c10::Symbol name, std::string_view overload) {
  for (const Operator* op : Candidates(name)) {
    if (op->schema().overload_name() == overload) return op;
  }
  return nullptr;
}

void OperatorRegistry::Refresh() {
  std::unique_lock lock(impl_->mutex);
  impl_->by_name.clear();
}

std::vector<std::string> OperatorRegistry::Similar(c10::Symbol name) {
  std::vector<std::string> names;
  for (c10::Symbol similar : torch::jit::findSimilarOperators(name)) names.emplace_back(similar.toQualString());
  return names;
}

}  // namespace hearth
