// Operators that take the number out of a tensor of one element.
#pragma once

#include <cstdint>

#include "jit/ir/graph.h"

namespace hearth {

enum class TakenNumber : uint8_t {
  kNone,  // it is no such operator, or has no tensor
  kInt,
  kFloat,
  kBool,
  kAsItIs,  // of the kind that the tensor's elements are
};

TakenNumber TakenNumberOf(const Node& node);

}  // namespace hearth
