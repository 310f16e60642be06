// Loops that are spread over the threads of a warp or a block in chunks, as row_plan.h says. A thread's elements of a
// chunk are those from `first` on; it loads them as vectors, computes them in a loop over their parts, and stores them.
// Loads that are repeated are kept in registers, kept<value>, and the loop over the chunks is written out, as far as
// there are registers for it.
#pragma once

#include <cstdint>
#include <map>

#include "jit/fuser/cuda/loop_code.h"
#include "jit/fuser/cuda/row_plan.h"
#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

class RowChunks {
 public:
  // Of loop_<k>, whose rounds several threads compute. `code` outlives this.
  explicit RowChunks(LoopCode& code);

  // Whether such a loop, right inside of a round, is in chunks.
  bool Has(const Loop& loop) const { return plan_.loops.contains(&loop); }

  // Declares what a round has in registers: local buffers, and loads that are kept.
  void DeclareRegisters();

  // All chunks of a loop that is in chunks. Reductions are declared before it (reductions_in_cuda.h).
  void EmitChunks(const Loop& loop);

 private:
  void KeepRepeatedLoads();
  void EmitElements(const Loop& loop, const RowLoop& row_loop);
  void EmitLoad(const Instruction& load, int width);
  std::string Unroll(const Loop& loop, const RowLoop& row_loop) const;
  int64_t ChunksOf(const RowElements& elements) const;

  LoopCode& code_;
  RowPlan plan_;
  std::map<const Instruction*, const Instruction*> kept_;  // loads, with the first load of the same elements
};

}  // namespace hearth::fuser
