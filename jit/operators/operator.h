// One registered operator behind one face: LibTorch's registry (dispatcher and JIT-only operators alike) and our native
// ones look the same to the front end, the passes and the interpreter.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/interned_strings.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <memory>
#include <vector>

namespace torch::jit {
struct Operator;
}

namespace hearth {

// The arguments of a native call: where each one lies. They are registers or constants of running code, so a native
// function reads them and never moves out of them.
struct NativeArguments {
  const c10::IValue* const* values;
  size_t count;
  const c10::IValue& operator[](size_t i) const { return *values[i]; }
};

// A native implementation, without a stack: reads `inputs`, assigns `outputs[0]`, `outputs[1]`, ... An output may be
// the register of an input that dies here, so it is assigned after the last read. Plain function pointer, so that the
// interpreter calls it directly.
using NativeFunction = void (*)(NativeArguments inputs, c10::IValue* outputs);

// What running an operator does beside computing its results.
struct OperatorEffects {
  bool writes = false;            // writes to an argument, or (no annotation on a custom operator) may
  bool nondeterministic = false;  // draws random numbers
  bool has_side_effect = false;   // prints, raises by design, changes global state, records
  bool may_alias = false;         // a result may alias an argument
};

// Immutable and alive for the process's life. Thread-safe.
class Operator {
 public:
  const c10::FunctionSchema& schema() const { return *schema_; }
  c10::Symbol symbol() const { return symbol_; }
  // What its schema, tags and namespace say. Some schemas tell less than the truth: definitions/node_effects.h knows
  // which.
  const OperatorEffects& announced_effects() const { return announced_effects_; }
  bool is_vararg() const { return schema_->is_vararg(); }

  // Boxed call through LibTorch: takes the arguments from the top of the stack and leaves the results there. Throws
  // whatever the operator throws. TorchScript's dtypes, layouts and the like are plain ints, and LibTorch indexes
  // tables with them: numbers that mean none are an error here.
  void Run(torch::jit::Stack& stack) const {
    if (!enumerations_.empty()) CheckEnumerations(stack);
    operation_(stack);
  }
  // False for the few registrations that make their operation from one of LibTorch's own graph nodes; they run only if
  // there is a native function or the interpreter knows them.
  bool has_boxed() const { return has_boxed_; }
  // Null if there is none; then Run is the way.
  NativeFunction native() const { return native_; }

 private:
  friend class OperatorRegistry;
  Operator() = default;

  // An argument that is the number of one of so many things.
  struct Enumeration {
    size_t argument;
    int64_t count;
  };
  static std::vector<Enumeration> FindEnumerations(const c10::FunctionSchema& schema);
  void CheckEnumerations(const torch::jit::Stack& stack) const;

  std::shared_ptr<torch::jit::Operator> keep_alive_;
  const c10::FunctionSchema* schema_ = nullptr;
  c10::Symbol symbol_;
  OperatorEffects announced_effects_;
  mutable torch::jit::Operation operation_ = nullptr;  // its call operator lacks const
  bool has_boxed_ = false;
  NativeFunction native_ = nullptr;
  std::vector<Enumeration> enumerations_;
};

}  // namespace hearth
