// Which buffers statements load and store, and where.
#pragma once

#include <set>
#include <span>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

struct BufferAccesses {
  std::set<BufferId> loaded;
  std::set<BufferId> stored;

  std::set<BufferId> all() const;
};

// Of statements and all loops in them.
BufferAccesses AccessesOf(const Body& body);
BufferAccesses AccessesOf(const Statement& statement);

// The indices of an instruction that loads or stores.
std::span<const ValueId> IndicesOf(const Instruction& access);

// Whether one stores what the other loads or stores, so that their order matters.
bool Conflict(const BufferAccesses& a, const BufferAccesses& b);

void Add(const BufferAccesses& more, BufferAccesses* accesses);

}  // namespace hearth::fuser
