#include "jit/fuser/cuda/device_loops.h"

#include <algorithm>
#include <optional>

#include "jit/fuser/cuda/buffer_accesses.h"
#include "jit/fuser/cuda/index_widths.h"
#include "jit/fuser/cuda/row_plan.h"
#include "jit/fuser/cuda/top_constants.h"
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
// Where a block computes a row: for how many parts of it a thread is enough.
constexpr int64_t kPartsOfThread = 8;
// Of local buffers in registers.
constexpr int64_t kMostElementsOfThread = 64;
constexpr int64_t kMostElementsOfBlock = 64 * 256;

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
  return most_rounds <= kFewRoundsOfWarp || ConstantAtTop(kernel, loop.extent).value_or(0) >= kManyRows;
}

// Of a loop that is spread over threads, what one of them computes at a time; the most of all such loops.
int64_t MostParts(const Kernel& kernel, const Loop& loop, const RowPlan& plan) {
  int64_t most = 1;
  for (const Statement& statement : loop.body) {
    if (statement.loop == nullptr) continue;
    const auto found = plan.loops.find(statement.loop.get());
    most = std::max(most, found == plan.loops.end() ? ConstantAtTop(kernel, statement.loop->extent).value_or(1)
                                                    : found->second.elements.Chunks(1));
  }
  return most;
}

// A block has a thread for each part, and several parts for each thread where there are very many.
uint32_t ThreadsOfRow(int64_t parts) {
  uint32_t threads = kThreadsOfBlock;
  while (threads < kMaxThreadsPerBlock && parts > int64_t{threads} * kPartsOfThread) threads *= 2;
  const int64_t warps = (std::min<int64_t>(parts, threads) + kThreadsPerWarp - 1) / kThreadsPerWarp;
  return static_cast<uint32_t>(warps) * kThreadsPerWarp;
}

bool FitsRegisters(const RowPlan& plan, uint32_t threads_per_round, uint32_t threads) {
  if (plan.locals.empty() || !plan.has_all_locals) return false;
  const int64_t elements = plan.LocalElements(threads_per_round);
  return elements <= kMostElementsOfThread && elements * threads <= kMostElementsOfBlock;
}

DeviceLoop DeviceLoopOf(const Kernel& kernel, const Loop& loop) {
  if (!HasReduction(loop.body) && LocalsOf(kernel, loop).empty()) {
    const std::optional<VectorPlan> vectors = VectorPlanOf(kernel, loop, IndexWidthsIn(kernel, loop));
    return {.threads = kThreadsOfBlock, .rounds_per_thread = vectors ? static_cast<uint32_t>(vectors->width) : 1};
  }
  const std::optional<int64_t> most = MostRounds(kernel, loop);
  if (!most) return {.threads = kThreadsOfBlock, .threads_per_round = kThreadsOfBlock};
  const RowPlan plan = RowPlanOf(kernel, loop);
  const auto alignment = static_cast<uint32_t>(plan.Alignment());
  if (SuitsWarps(kernel, loop, *most)) {
    constexpr uint32_t kThreads = kWarpsOfBlock * kThreadsPerWarp;
    const bool in_registers = FitsRegisters(plan, kThreadsPerWarp, kThreads);
    if (in_registers || LocalBytes(kernel, loop).value_or(kMostWarpBytes + 1) <= kMostWarpBytes) {
      return {.threads = kThreads,
              .threads_per_round = kThreadsPerWarp,
              .alignment = alignment,
              .has_locals_in_registers = in_registers};
    }
  }
  const uint32_t threads = ThreadsOfRow(MostParts(kernel, loop, plan));
  return {.threads = threads,
          .threads_per_round = threads,
          .alignment = alignment,
          .has_locals_in_registers = FitsRegisters(plan, threads, threads)};
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
