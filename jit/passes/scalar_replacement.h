// Takes attributes that carry nothing from run to run out of the model's state. What every method assigns before it
// reads it, on every path, is scratch space: it becomes a value of the run. What no method reads at all needs no
// assigning. Either attribute keeps what the archive gave it, and runs that use it need not wait for each other.
//
// Sound because nobody can tell: no graph reads the attribute before assigning it, and its object is used only by its
// attributes' names (StateAccesses::IsInSight).
//
// Promotion of memory to registers on structured control flow: where a branch, a loop or a with assigns, it gets one
// more result.
#pragma once

#include <ATen/core/ivalue.h>

#include <span>

#include "jit/ir/graph.h"

namespace hearth {

class Compilation;
class UnitEffects;

// `graphs` are all that runs of the model start with, each with its first input bound to `self`. Whether any changed.
bool ReplaceScratchAttributes(std::span<Graph* const> graphs, const c10::ivalue::Object& self,
                              const UnitEffects& effects);

// The pass: of a model with no other method.
bool ReplaceScratchAttributes(Compilation& compilation);

}  // namespace hearth
