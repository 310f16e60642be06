#include "jit/fuser/cuda/row_chunks.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "jit/fuser/cuda/buffer_accesses.h"
#include "jit/fuser/cuda/buffers_in_cuda.h"
#include "jit/fuser/cuda/operations_in_cuda.h"
#include "jit/fuser/cuda/reductions_in_cuda.h"
#include "jit/fuser/cuda/thread_code.h"
#include "jit/fuser/cuda/vector_accesses.h"

namespace hearth::fuser {
namespace {

// Of a loop in chunks: elements and calls of functions that are written out, of all its chunks or else of some at a
// time.
constexpr int64_t kMostWorkWrittenOut = 128;
constexpr int64_t kWorkWrittenOut = 32;
// For local buffers and loads that are repeated.
constexpr int64_t kMostRegisters = 72;
constexpr int64_t kMostRegistersOfBlock = kMostRegisters * 256;

std::string NameOfKept(const Instruction& first) { return "kept" + std::to_string(first.result); }

std::string PointerTo(const LoopCode& code, const Instruction& access) {
  return "&" + ElementOf(code, access.buffer, IndicesOf(access), {});
}

}  // namespace

RowChunks::RowChunks(LoopCode& code) : code_(code), plan_(RowPlanOf(code.kernel, code.loop)) { KeepRepeatedLoads(); }

int64_t RowChunks::ChunksOf(const RowElements& elements) const {
  return elements.Chunks(code_.device_loop.threads_per_round);
}

void RowChunks::KeepRepeatedLoads() {
  const DeviceLoop& device_loop = code_.device_loop;
  int64_t registers = HasLocalsInRegisters(code_) ? plan_.LocalElements(device_loop.threads_per_round) : 0;
  for (const RepeatedLoad& repeated : plan_.repeated) {
    registers += repeated.Registers(device_loop.threads_per_round);
    if (registers > kMostRegisters || registers * device_loop.threads > kMostRegistersOfBlock) return;
    for (const Instruction* load : repeated.loads) kept_.emplace(load, repeated.loads.front());
  }
}

void RowChunks::DeclareRegisters() {
  if (HasLocalsInRegisters(code_)) {
    for (const auto& [local, elements] : plan_.locals) {
      code_.text.Line(std::string(MemoryCTypeOf(code_.kernel.buffers[local].dtype)) + " " + NameOfBuffer(local) + "[" +
                      std::to_string(ChunksOf(elements) * elements.width) + "];");
    }
  }
  for (const RepeatedLoad& repeated : plan_.repeated) {
    const Instruction& first = *repeated.loads.front();
    if (!kept_.contains(&first)) continue;
    code_.text.Line(TypeOfVector(code_, first, repeated.elements.width) + " " + NameOfKept(first) + "[" +
                    std::to_string(ChunksOf(repeated.elements)) + "];");
  }
}

void RowChunks::EmitChunks(const Loop& loop) {
  const RowLoop& row_loop = plan_.loops.at(&loop);
  const auto& [extent, width] = row_loop.elements;
  const std::string threads = std::to_string(code_.device_loop.threads_per_round);
  code_.text.Line("#pragma unroll" + Unroll(loop, row_loop));
  code_.text.Begin("for (int chunk = 0; chunk < " + std::to_string(ChunksOf(row_loop.elements)) + "; ++chunk)");
  code_.text.Line("const int first = (chunk * " + threads + " + (int)" + code_.NumberOfThread() + ") * " +
                  std::to_string(width) + ";");
  const bool may_be_beyond = extent % (int64_t{width} * code_.device_loop.threads_per_round) != 0;
  if (may_be_beyond) code_.text.Begin("if (first < " + std::to_string(extent) + ")");
  EmitElements(loop, row_loop);
  if (may_be_beyond) code_.text.End();
  code_.text.End();
}

// Of one thread in a chunk.
void RowChunks::EmitElements(const Loop& loop, const RowLoop& row_loop) {
  const int width = row_loop.elements.width;
  const std::string index = "const " + code_.names.TypeOf(loop.index) + " " + NameOfValue(loop.index) + " = ";
  code_.text.Line(index + "first;");
  const std::vector<const Instruction*> accesses = InOrder(loop.body, row_loop.accesses);
  for (const Instruction* access : accesses) {
    if (access->opcode == Opcode::kStore) {
      code_.text.Line(TypeOfVector(code_, *access, width) + " " + NameOfVector(*access) + ";");
    } else {
      EmitLoad(*access, width);
    }
  }
  if (width > 1) code_.text.Line("#pragma unroll");
  code_.text.Begin("for (int part = 0; part < " + std::to_string(width) + "; ++part)");
  code_.text.Line(index + "first + part;");
  EmitThreadBody(code_, loop.body, {.accesses = &row_loop.accesses, .chunk_width = width});
  ReduceElements(code_, loop);
  code_.text.End();
  for (const Instruction* access : accesses) {
    if (access->opcode != Opcode::kStore) continue;
    code_.text.Line("*(" + TypeOfVector(code_, *access, width) + "*)" + PointerTo(code_, *access) + " = " +
                    NameOfVector(*access) + ";");
  }
}

// Of a vector; from memory, unless an earlier loop has kept it.
void RowChunks::EmitLoad(const Instruction& load, int width) {
  const std::string vector = "const " + TypeOfVector(code_, load, width) + " " + NameOfVector(load);
  const auto from_memory = [&] {
    return std::string(code_.functions->Use("LoadVector")) + "<" + std::string(MemoryCTypeOf(load.dtype)) + ", " +
           std::to_string(width) + ">(" + PointerTo(code_, load) + ")";
  };
  const auto kept = kept_.find(&load);
  if (kept == kept_.end()) {
    code_.text.Line(vector + " = " + from_memory() + ";");
    return;
  }
  const std::string in_register = NameOfKept(*kept->second) + "[chunk]";
  if (kept->second == &load) code_.text.Line(in_register + " = " + from_memory() + ";");
  code_.text.Line(vector + " = " + in_register + ";");
}

// How many chunks are written out, with a space before; nothing for all: if their elements are few, or the loop uses
// arrays in registers.
std::string RowChunks::Unroll(const Loop& loop, const RowLoop& row_loop) const {
  const bool has_kept =
      std::ranges::any_of(row_loop.accesses, [&](const Instruction* access) { return kept_.contains(access); });
  const std::set<BufferId> buffers = AccessesOf(loop.body).all();
  const bool has_locals = HasLocalsInRegisters(code_) && std::ranges::any_of(buffers, [&](BufferId buffer) {
                            return code_.kernel.buffers[buffer].kind == BufferKind::kLocal;
                          });
  const int64_t work_of_chunk = int64_t{row_loop.elements.width} * (1 + row_loop.calls);
  if (has_kept || has_locals || ChunksOf(row_loop.elements) * work_of_chunk <= kMostWorkWrittenOut) return "";
  return " " + std::to_string(std::max<int64_t>(1, kWorkWrittenOut / work_of_chunk));
}

}  // namespace hearth::fuser
