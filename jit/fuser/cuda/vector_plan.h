// Rounds of a loop at the top that one thread computes together, so that elements which are neighbours in memory are
// loaded and stored as one vector.
#pragma once

#include <optional>
#include <set>

#include "jit/fuser/cuda/index_widths.h"
#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// What a thread loads or stores at once, at most.
inline constexpr int kVectorBytes = 16;

struct VectorPlan {
  int width = 1;  // rounds
  // Loads of inputs, and stores that are the only access to their buffer, of the element whose place is the round's
  // number.
  std::set<const Instruction*> accesses;
  // Where the loop was two (prepare.h): the outer index, the inner one, and the inner extent. None else.
  ValueId quotient = kNoValue;
  ValueId rest = kNoValue;
  ValueId extent = kNoValue;
  // Whether the inner extent is a multiple of the width, so that a thread's rounds have one outer index.
  bool is_even = false;
  // If so: loads of inputs, of neighbours along the inner index alone; under a condition only where all of a thread's
  // rounds meet it, or none does.
  std::set<const Instruction*> inner_accesses;
};

// Of a loop whose body is instructions; nothing where no access is such, or a round is so much work that accesses do
// not matter.
std::optional<VectorPlan> VectorPlanOf(const Kernel& kernel, const Loop& loop, const std::vector<IndexWidth>& widths);

}  // namespace hearth::fuser
