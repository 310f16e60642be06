// What one Node does beside computing its outputs. Nested blocks and the bodies of calls are not looked into.
//
// Starts from what an operator's schema and definition say and makes it more precise by the node's constant inputs: a
// batch_norm with training=False writes nothing, a dropout with train=False draws nothing.
#pragma once

#include "jit/ir/graph.h"
#include "jit/operators/operator.h"

namespace hearth {

struct NodeEffects {
  bool writes = false;  // to the memory of an input; WritesInput says which
  bool random = false;  // draws random numbers
  bool seeds = false;   // sets the process's random generators
  bool acts = false;    // prints, warns, changes global state
  bool raises = false;  // raises by design
  bool calls = false;   // runs a function or method, which may do anything
  bool any() const { return writes || random || acts || raises || calls; }
};

// All of this is thread-safe.
NodeEffects EffectsOf(const Node& node);
// Of a call with any operands.
OperatorEffects EffectsOf(const Operator& op);
// Whether it has none.
bool IsPure(const Operator& op);

bool WritesInput(const Node& node, size_t i);

// Whether an operator asks about a tensor's sizes, dtype and the like, and not about what is in it.
bool ReadsShapeOnly(Symbol kind);

// Whether a node without effects may raise.
bool MayThrow(const Node& node);

// Whether something in the block may switch the recording of gradients on, or use it.
bool MayRecordGradients(const Block& block);

// Whether output `output` of an operator may share memory with input `input`, or hold it, or be held by it.
bool OutputMayAliasInput(const Node& node, size_t output, size_t input);

// Whether a value of this type has memory that can be written or that two values can share: a tensor, list, dict,
// object, or what may hold one. Numbers, strings, devices and None have not.
bool HasMemory(const c10::Type& type);

// The constant that `value` is, if it is one; null otherwise.
const c10::IValue* ConstantOf(const Value& value);

}  // namespace hearth
