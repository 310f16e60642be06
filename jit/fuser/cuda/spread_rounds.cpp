#include "jit/fuser/cuda/spread_rounds.h"

#include <optional>
#include <set>
#include <string>

#include "jit/fuser/cuda/buffer_accesses.h"
#include "jit/fuser/cuda/buffers_in_cuda.h"
#include "jit/fuser/cuda/device_loops.h"
#include "jit/fuser/cuda/reductions_in_cuda.h"
#include "jit/fuser/cuda/row_chunks.h"
#include "jit/fuser/cuda/thread_code.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/unsupported.h"

namespace hearth::fuser {
namespace {

class SpreadRounds {
 public:
  explicit SpreadRounds(LoopCode& code) : code_(code) {
    if (!code.wide) chunks_.emplace(code);
  }

  void Emit() {
    BeginRounds();
    if (chunks_) chunks_->DeclareRegisters();
    EmitBody(code_.loop.body);
    // The next round's threads write what this one's may still read.
    if (!LocalsInScratch(code_).empty() || (!code_.IsOfWarps() && HasReduction(code_.loop.body))) Meet();
    code_.text.End();
  }

 private:
  void BeginRounds() {
    if (!code_.IsOfWarps()) {
      DeclareLocalsInScratch(code_);
      DeclareSharedPartials(code_);
      code_.BeginRounds("blockIdx.x", "gridDim.x");
      return;
    }
    const std::string warps = std::to_string(code_.device_loop.threads / kThreadsPerWarp);
    code_.text.Line("const unsigned warp = threadIdx.x / 32;");
    code_.text.Line("const unsigned lane = threadIdx.x % 32;");
    DeclareLocalsInScratch(code_);
    const std::string type = "(" + code_.TypeOfRound() + ")";
    code_.BeginRounds(type + "blockIdx.x * " + warps + " + warp", type + "gridDim.x * " + warps);
  }

  void Meet() { code_.text.Line(code_.IsOfWarps() ? "__syncwarp();" : "__syncthreads();"); }

  void EmitBody(const Body& body) {
    BufferAccesses since_meeting;
    for (const Statement& statement : body) {
      const BufferAccesses accesses = SharedAccessesOf(statement);
      if (Conflict(since_meeting, accesses)) {
        Meet();
        since_meeting = {};
      }
      Add(accesses, &since_meeting);
      if (statement.loop != nullptr) {
        EmitLoop(statement);
        // The threads of a block meet in reductions.
        if (!code_.IsOfWarps() && statement.loop->kind == LoopKind::kReduce) since_meeting = {};
      } else if (statement.instruction.opcode == Opcode::kStore) {
        code_.text.Begin("if (" + code_.NumberOfThread() + " == 0)");
        EmitInstruction(code_, statement.instruction, {});
        code_.text.End();
      } else {
        EmitInstruction(code_, statement.instruction, {});
      }
    }
  }

  // Of memory in which one thread may find what another one stored.
  BufferAccesses SharedAccessesOf(const Statement& statement) const {
    BufferAccesses accesses = AccessesOf(statement);
    const std::vector<Buffer>& buffers = code_.kernel.buffers;
    std::erase_if(accesses.loaded, [&](BufferId buffer) { return buffers[buffer].kind == BufferKind::kInput; });
    if (!HasLocalsInRegisters(code_)) return accesses;
    for (std::set<BufferId>* of_threads : {&accesses.loaded, &accesses.stored}) {
      std::erase_if(*of_threads, [&](BufferId buffer) { return buffers[buffer].kind == BufferKind::kLocal; });
    }
    return accesses;
  }

  void EmitLoop(const Statement& statement) {
    const Loop& loop = *statement.loop;
    if (loop.kind == LoopKind::kSequential) {
      throw Unsupported("no CUDA code for a sequential loop whose rounds a block computes: " + Print(statement));
    }
    DeclarePartials(code_, loop);
    if (chunks_ && chunks_->Has(loop)) {
      chunks_->EmitChunks(loop);
    } else {
      BeginLoop(code_, loop, code_.NumberOfThread(), code_.IsOfWarps() ? "32" : "blockDim.x");
      EmitThreadBody(code_, loop.body, {});
      ReduceElements(code_, loop);
      code_.text.End();
    }
    EmitResultsOfThreads(code_, loop);
  }

  LoopCode& code_;
  std::optional<RowChunks> chunks_;  // of loop_<k>
};

}  // namespace

void EmitSpreadRounds(LoopCode& code) { SpreadRounds(code).Emit(); }

}  // namespace hearth::fuser
