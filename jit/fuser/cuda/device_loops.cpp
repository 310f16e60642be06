#include "jit/fuser/cuda/device_loops.h"

#include <algorithm>
#include <optional>

#include "jit/fuser/cuda/buffer_accesses.h"
#include "jit/fuser/cuda/index_widths.h"
#include "jit/fuser/cuda/vector_plan.h"

namespace hearth::fuser {
namespace {

constexpr uint32_t kThreadsOfBlock = 256;
// Where a warp computes a row: so many in a block, the longest row, one that it always gets, and how many rows keep
// every warp of a large GPU at work.
constexpr uint32_t kWarpsOfBlock = 4;
constexpr int64_t kMostRoundsOfWarp = 1024;
constexpr int64_t kFewRoundsOfWarp = 128;
constexpr int64_t kManyRows = 2048;
// For the local buffers of a row: a block then has no more than may be had without asking for it.
constexpr int64_t kMostWarpBytes = int64_t{8} << 10;

// A constant of the prologue, or a product of such.
std::optional<int64_t> ConstantAtTop(const Kernel& kernel, ValueId value) {
  for (const Statement& statement : kernel.prologue) {
    const Instruction& instruction = statement.instruction;
    if (instruction.result != value) continue;
    if (instruction.opcode == Opcode::kConstant) return instruction.integer;
    if (instruction.opcode != Opcode::kMultiply || instruction.dtype != Dtype::kInt64) return std::nullopt;
    const std::optional<int64_t> a = ConstantAtTop(kernel, instruction.operands[0]);
    const std::optional<int64_t> b = ConstantAtTop(kernel, instruction.operands[1]);
    int64_t product = 0;
    return a && b && !__builtin_mul_overflow(*a, *b, &product) ? std::optional(product) : std::nullopt;
  }
  return std::nullopt;
}

// The most rounds of a loop that is spread over threads; nothing where no constant says.
std::optional<int64_t> MostRounds(const Kernel& kernel, const Loop& loop) {
  int64_t most = 1;
  for (const Statement& statement : loop.body) {
    if (statement.loop == nullptr) continue;
    const std::optional<int64_t> extent = ConstantAtTop(kernel, statement.loop->extent);
    if (!extent) return std::nullopt;
    most = std::max(most, *extent);
  }
  return most;
}

// Of the local buffers for a round; nothing where no constants say.
std::optional<int64_t> LocalBytes(const Kernel& kernel, const Loop& loop) {
  int64_t bytes = 0;
  for (const BufferId local : LocalsOf(kernel, loop)) {
    auto of_buffer = static_cast<int64_t>(BytesOf(kernel.buffers[local].dtype));
    for (const ValueId size : kernel.buffers[local].sizes) {
      const std::optional<int64_t> elements = ConstantAtTop(kernel, size);
      if (!elements || *elements > kMostWarpBytes) return std::nullopt;
      of_buffer *= std::max<int64_t>(*elements, 1);
      if (of_buffer > kMostWarpBytes) return std::nullopt;
    }
    bytes += of_buffer + kBlockAlignment;
  }
  return bytes;
}

// A warp needs no others to reduce a row, but is slow for a long one: it gets those that are short, and where there are
// so many of them that all warps have work.
bool SuitsWarps(const Kernel& kernel, const Loop& loop, int64_t most_rounds) {
  if (most_rounds > kMostRoundsOfWarp) return false;
  const std::optional<int64_t> bytes = LocalBytes(kernel, loop);
  if (!bytes || *bytes > kMostWarpBytes) return false;
  return most_rounds <= kFewRoundsOfWarp || ConstantAtTop(kernel, loop.extent).value_or(0) >= kManyRows;
}

DeviceLoop DeviceLoopOf(const Kernel& kernel, const Loop& loop) {
  if (!HasReduction(loop.body) && LocalsOf(kernel, loop).empty()) {
    const std::optional<VectorPlan> vectors = VectorPlanOf(kernel, loop, IndexWidthsIn(kernel, loop));
    return {.threads = kThreadsOfBlock, .rounds_per_thread = vectors ? static_cast<uint32_t>(vectors->width) : 1};
  }
  const std::optional<int64_t> most = MostRounds(kernel, loop);
  if (most && SuitsWarps(kernel, loop, *most)) {
    return {.threads = kWarpsOfBlock * kThreadsPerWarp, .threads_per_round = kThreadsPerWarp};
  }
  const int64_t spread = std::min<int64_t>(most.value_or(kThreadsOfBlock), kThreadsOfBlock);
  const auto warps = static_cast<uint32_t>((spread + kThreadsPerWarp - 1) / kThreadsPerWarp);
  return {.threads = warps * kThreadsPerWarp, .threads_per_round = warps * kThreadsPerWarp};
}

}  // namespace

bool HasReduction(const Body& body) {
  return std::ranges::any_of(body, [](const Statement& statement) {
    return statement.loop != nullptr &&
           (statement.loop->kind == LoopKind::kReduce || HasReduction(statement.loop->body));
  });
}

std::set<BufferId> LocalsOf(const Kernel& kernel, const Loop& loop) {
  std::set<BufferId> locals;
  for (const BufferId buffer : AccessesOf(loop.body).all()) {
    if (kernel.buffers[buffer].kind == BufferKind::kLocal) locals.insert(buffer);
  }
  return locals;
}

std::vector<DeviceLoop> DeviceLoopsOf(const Kernel& prepared) {
  std::vector<DeviceLoop> loops;
  for (const Statement& statement : prepared.body) loops.push_back(DeviceLoopOf(prepared, *statement.loop));
  return loops;
}

}  // namespace hearth::fuser
