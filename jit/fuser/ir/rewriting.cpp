#include "jit/fuser/ir/rewriting.h"

namespace hearth::fuser {

Body CopyOf(const Body& body) {
  Body copy;
  copy.reserve(body.size());
  for (const Statement& statement : body) {
    if (statement.loop == nullptr) {
      copy.push_back(StatementOf(statement.instruction));
      continue;
    }
    const Loop& loop = *statement.loop;
    copy.push_back(StatementOf(Loop{.kind = loop.kind,
                                    .index = loop.index,
                                    .extent = loop.extent,
                                    .body = CopyOf(loop.body),
                                    .accumulators = loop.accumulators,
                                    .carried = loop.carried}));
  }
  return copy;
}

Kernel CopyOf(const Kernel& kernel) {
  return {.symbols = kernel.symbols,
          .prologue = CopyOf(kernel.prologue),
          .buffers = kernel.buffers,
          .body = CopyOf(kernel.body),
          .num_values = kernel.num_values};
}

}  // namespace hearth::fuser
