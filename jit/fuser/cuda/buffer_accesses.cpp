#include "jit/fuser/cuda/buffer_accesses.h"

#include <algorithm>

namespace hearth::fuser {
namespace {

bool Meet(const std::set<BufferId>& a, const std::set<BufferId>& b) {
  return std::ranges::any_of(a, [&](BufferId buffer) { return b.contains(buffer); });
}

}  // namespace

std::set<BufferId> BufferAccesses::all() const {
  std::set<BufferId> buffers = loaded;
  buffers.insert(stored.begin(), stored.end());
  return buffers;
}

BufferAccesses AccessesOf(const Body& body) {
  BufferAccesses accesses;
  for (const Statement& statement : body) Add(AccessesOf(statement), &accesses);
  return accesses;
}

BufferAccesses AccessesOf(const Statement& statement) {
  if (statement.loop != nullptr) return AccessesOf(statement.loop->body);
  const Instruction& instruction = statement.instruction;
  if (!TouchesMemory(instruction.opcode)) return {};
  if (instruction.opcode == Opcode::kStore) return {.loaded = {}, .stored = {instruction.buffer}};
  return {.loaded = {instruction.buffer}, .stored = {}};
}

std::span<const ValueId> IndicesOf(const Instruction& access) {
  return std::span(access.operands).subspan(access.opcode == Opcode::kLoad ? 0 : 1);
}

bool Conflict(const BufferAccesses& a, const BufferAccesses& b) {
  return Meet(a.stored, b.stored) || Meet(a.stored, b.loaded) || Meet(a.loaded, b.stored);
}

void Add(const BufferAccesses& more, BufferAccesses* accesses) {
  accesses->loaded.insert(more.loaded.begin(), more.loaded.end());
  accesses->stored.insert(more.stored.begin(), more.stored.end());
}

}  // namespace hearth::fuser
