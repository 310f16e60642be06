// The rules by which one Node becomes a constant or another value: operators on constants, tuples taken apart where
// they are made, casts and checks that types decide, dropout that is off. Used by the walk that inlines (specialize),
// by fold_facts and by peel_loops.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <span>
#include <vector>

#include "jit/ir/graph.h"

namespace hearth {

// What is known of a node's input.
struct Operand {
  const c10::IValue* constant = nullptr;  // null if it is not a constant
  Value* value = nullptr;                 // may be null for a constant
  TypePtr type;
};

// What an output turns out to be: exactly one of these.
struct Replacement {
  std::optional<size_t> operand;  // the same as that input
  Value* value = nullptr;
  std::optional<c10::IValue> constant;
  TypePtr type;  // of the constant; null: as the value says
};

// Whether `type` may be None, and whether it is None only.
bool MayBeNone(const c10::Type& type);

// Fills `outputs`, one for each output of `node`, and returns true if the node is not needed; `inputs` stand for the
// node's own inputs. Never true for a node with an effect. Thread-safe.
bool SimplifyNode(const Node& node, std::span<const Operand> inputs, std::vector<Replacement>* outputs);

}  // namespace hearth
