// A compiled TorchScript function or method: its schema, its Graph as the front end emitted it, and, once the executor
// has made one, what runs it. Derives from LibTorch's abstract Function so that ClassType::addMethod takes it.
#pragma once

#include <ATen/core/function.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/qualified_name.h>

#include <functional>
#include <memory>

#include "jit/ir/graph.h"

namespace hearth {

// What runs a function. Implemented by the interpreter, made by the executor while a model loads.
class Executable {
 public:
  virtual ~Executable() = default;
  // Runs to the end on this thread: takes the arguments from the stack and leaves the result. LibTorch calls this for
  // upcalls (a class's __lt__ in a sort); they may not suspend.
  virtual void Run(torch::jit::Stack& stack) = 0;
};

// Built by one thread while an archive loads; read-only and so thread-safe from then on.
class Function final : public torch::jit::Function {
 public:
  // Emits the body into `graph`; called at most once, on the first EnsureDefined. Throws CompileError.
  using Definer = std::function<void(Function& function, Graph& graph)>;

  Function(c10::QualifiedName name, c10::FunctionSchema schema, Definer definer);
  ~Function() override;

  // The emitted graph, not optimised; never changed once defined. Its inputs are the schema's arguments, its single
  // output the result (None where the function returns nothing).
  const Graph& emitted_graph();
  // Emits the body if that has not happened. A call while the body is being emitted (recursion) does nothing.
  void EnsureDefined();
  bool defined() const { return state_ == State::kDefined; }

  // The executor's; null until set. Owned by the function.
  Executable* executable() const { return executable_.get(); }
  void SetExecutable(std::unique_ptr<Executable> executable);

  // torch::jit::Function:
  bool isGraphFunction() const override { return true; }
  void run(torch::jit::Stack& stack) override;
  const c10::QualifiedName& qualname() const override { return name_; }
  void ensure_defined() override { EnsureDefined(); }
  const c10::FunctionSchema& getSchema() const override { return schema_; }
  size_t num_inputs() const override { return schema_.arguments().size(); }
  torch::jit::Function& setSchema(c10::FunctionSchema schema) override;

 private:
  enum class State { kDeclared, kDefining, kDefined };

  c10::QualifiedName name_;
  c10::FunctionSchema schema_;
  Definer definer_;
  State state_ = State::kDeclared;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Executable> executable_;
};

}  // namespace hearth
