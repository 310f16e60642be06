#include "jit/module/function.h"

#include <utility>

#include "jit/support/load_budget.h"

namespace hearth {

Function::Function(c10::QualifiedName name, c10::FunctionSchema schema, Definer definer)
    : name_(std::move(name)), schema_(std::move(schema)), definer_(std::move(definer)) {}

Function::~Function() = default;

const Graph& Function::emitted_graph() {
  EnsureDefined();
  return *graph_;
}

void Function::EnsureDefined() {
  if (state_ != State::kDeclared) return;
  const LoadBudget::Activity compiling("compiling ", name_.qualifiedName());
  state_ = State::kDefining;
  graph_ = std::make_unique<Graph>();
  definer_(*this, *graph_);
  definer_ = nullptr;
  state_ = State::kDefined;
}

void Function::SetExecutable(std::unique_ptr<Executable> executable) { executable_ = std::move(executable); }

void Function::run(torch::jit::Stack& stack) {
  TORCH_CHECK(executable_, "function ", name_.qualifiedName(), " was called before it was compiled");
  executable_->Run(stack);
}

torch::jit::Function& Function::setSchema(c10::FunctionSchema schema) {
  schema_ = std::move(schema);
  return *this;
}

}  // namespace hearth
