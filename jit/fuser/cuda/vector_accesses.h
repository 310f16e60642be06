// Neighbours in memory that a thread loads or stores at once, as one vector: a variable, loaded<value> or
// stored<buffer>, whose element is variable.of[part]. The loop over the parts stands between the loads and the stores.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "jit/fuser/cuda/loop_code.h"
#include "jit/fuser/cuda/vector_plan.h"

namespace hearth::fuser {

// What statements may refer to in a loop over the parts of vectors: which of them access a vector's part in place of
// memory. Elsewhere, nothing. Whoever writes the loop owns what is pointed to.
struct VectorScope {
  // Loaded before the loop, or stored after it.
  const std::set<const Instruction*>* accesses = nullptr;
  // Where the parts are rounds (thread_rounds.h).
  const VectorPlan* rounds = nullptr;
  // Where they are elements of a chunk (row_chunks.h): how many.
  int chunk_width = 0;

  bool Has(const Instruction& access) const { return accesses != nullptr && accesses->contains(&access); }
  // Whether the access loads a vector in the loop, with its first part.
  bool HasInner(const Instruction& access) const {
    return rounds != nullptr && rounds->inner_accesses.contains(&access);
  }
};

std::string TypeOfVector(const LoopCode& code, const Instruction& access, int width);
std::string NameOfVector(const Instruction& access);

// Those of a body's own instructions that are among `accesses`.
std::vector<const Instruction*> InOrder(const Body& body, const std::set<const Instruction*>& accesses);

}  // namespace hearth::fuser
