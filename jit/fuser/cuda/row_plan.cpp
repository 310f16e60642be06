#include "jit/fuser/cuda/row_plan.h"

#include <algorithm>
#include <optional>
#include <span>

#include "jit/fuser/cuda/buffer_accesses.h"
#include "jit/fuser/cuda/device_loops.h"
#include "jit/fuser/cuda/top_constants.h"
#include "jit/fuser/cuda/vector_plan.h"

namespace hearth::fuser {
namespace {

constexpr int kWidest = 8;
// Indices of longer loops may need more than an int has.
constexpr int64_t kLongest = int64_t{1} << 30;

class RowPlanner {
 public:
  RowPlanner(const Kernel& kernel, const Loop& loop_at_top) : kernel_(kernel), loop_at_top_(loop_at_top) {}

  RowPlan Make() {
    for (const Statement& statement : loop_at_top_.body) {
      if (statement.loop != nullptr) AddLoop(*statement.loop);
    }
    std::map<int64_t, int> widths;  // one for all loops of a length
    for (const auto& [loop, row_loop] : plan_.loops) {
      const auto [found, is_new] = widths.emplace(row_loop.elements.extent, row_loop.elements.width);
      found->second = std::min(found->second, row_loop.elements.width);
    }
    for (auto& [loop, row_loop] : plan_.loops) row_loop.elements.width = widths[row_loop.elements.extent];
    for (const BufferId local : LocalsOf(kernel_, loop_at_top_)) AddLocal(local);
    FindRepeated();
    return std::move(plan_);
  }

 private:
  void AddLoop(const Loop& loop) {
    const std::optional<int64_t> extent = ConstantAtTop(kernel_, loop.extent);
    if (loop.kind == LoopKind::kSequential || !extent || *extent <= 0 || *extent > kLongest) return;
    RowLoop row_loop;
    row_loop.elements = {.extent = *extent, .width = kWidest};
    std::set<ValueId> inside = {loop.index};
    std::map<BufferId, int> times_touched;
    for (const Statement& statement : loop.body) {
      if (statement.loop != nullptr) return;
      const Instruction& instruction = statement.instruction;
      if (instruction.opcode != Opcode::kStore) inside.insert(instruction.result);
      if (TouchesMemory(instruction.opcode)) ++times_touched[instruction.buffer];
      if (instruction.opcode >= Opcode::kExp) ++row_loop.calls;
    }
    int& width = row_loop.elements.width;
    for (const Statement& statement : loop.body) {
      const Instruction& instruction = statement.instruction;
      if (!TouchesMemory(instruction.opcode) || kernel_.buffers[instruction.buffer].kind == BufferKind::kLocal)
        continue;
      const bool is_like_vector = instruction.opcode == Opcode::kStore
                                      ? times_touched[instruction.buffer] == 1
                                      : kernel_.buffers[instruction.buffer].kind == BufferKind::kInput;
      if (is_like_vector && IsOfNeighbours(instruction, loop.index, inside)) {
        row_loop.accesses.insert(&instruction);
        width = std::min(width, kVectorBytes / static_cast<int>(BytesOf(instruction.dtype)));
      } else if (std::ranges::any_of(instruction.operands, [&](ValueId operand) { return inside.contains(operand); })) {
        // Neighbours in memory are better accessed by neighbouring threads.
        width = 1;
      }
    }
    while (width > 1 && (*extent < width * int64_t{kThreadsPerWarp} || !IsFactor(width, row_loop))) width /= 2;
    plan_.loops.emplace(&loop, std::move(row_loop));
  }

  // One index is the loop's, along which elements are neighbours, and no other one changes within it.
  bool IsOfNeighbours(const Instruction& access, ValueId index, const std::set<ValueId>& inside) const {
    if (access.opcode == Opcode::kLoadIf) return false;
    const std::span<const ValueId> indices = IndicesOf(access);
    int times = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (!inside.contains(indices[i])) continue;
      if (indices[i] != index || ConstantAtTop(kernel_, kernel_.buffers[access.buffer].strides[i]) != 1) return false;
      ++times;
    }
    return times == 1;
  }

  // Of the extent, and of all strides beside those that are 1.
  bool IsFactor(int width, const RowLoop& row_loop) const {
    if (row_loop.elements.extent % width != 0) return false;
    return std::ranges::all_of(row_loop.accesses, [&](const Instruction* access) {
      return std::ranges::all_of(kernel_.buffers[access->buffer].strides, [&](ValueId stride) {
        const std::optional<int64_t> elements = ConstantAtTop(kernel_, stride);
        return elements && (*elements == 1 || *elements % width == 0);
      });
    });
  }

  void AddLocal(BufferId local) {
    std::map<int64_t, RowElements> elements;  // by extent
    for (const Statement& statement : loop_at_top_.body) {
      if (!AccessesOf(statement).all().contains(local)) continue;
      const auto found = statement.loop == nullptr ? plan_.loops.end() : plan_.loops.find(statement.loop.get());
      if (found == plan_.loops.end() || !IsAtIndexIn(local, *statement.loop)) {
        plan_.has_all_locals = false;
        return;
      }
      elements.emplace(found->second.elements.extent, found->second.elements);
    }
    if (elements.size() == 1) {
      plan_.locals.emplace(local, elements.begin()->second);
    } else {
      plan_.has_all_locals = false;
    }
  }

  void FindRepeated() {
    for (const Statement& statement : loop_at_top_.body) {
      const auto row_loop = statement.loop == nullptr ? plan_.loops.end() : plan_.loops.find(statement.loop.get());
      if (row_loop == plan_.loops.end()) continue;
      for (const Statement& inner : statement.loop->body) {
        const Instruction& load = inner.instruction;
        if (load.opcode != Opcode::kLoad || !row_loop->second.accesses.contains(&load)) continue;
        const auto same = std::ranges::find_if(plan_.repeated, [&](const RepeatedLoad& repeated) {
          return repeated.elements.extent == row_loop->second.elements.extent &&
                 IsOfSameElements(*repeated.loads.front(), load, *statement.loop);
        });
        if (same == plan_.repeated.end()) {
          plan_.repeated.push_back({row_loop->second.elements, {&load}});
        } else {
          same->loads.push_back(&load);
        }
      }
    }
    std::erase_if(plan_.repeated, [](const RepeatedLoad& repeated) { return repeated.loads.size() == 1; });
  }

  // An access of neighbours in an earlier loop and one in this loop.
  static bool IsOfSameElements(const Instruction& earlier, const Instruction& load, const Loop& loop) {
    if (earlier.buffer != load.buffer) return false;
    for (size_t i = 0; i < load.operands.size(); ++i) {
      if (load.operands[i] != earlier.operands[i] && load.operands[i] != loop.index) return false;
    }
    return true;
  }

  bool IsAtIndexIn(BufferId local, const Loop& loop) const {
    return std::ranges::all_of(loop.body, [&](const Statement& statement) {
      const Instruction& access = statement.instruction;
      if (!TouchesMemory(access.opcode) || access.buffer != local) return true;
      const std::span<const ValueId> indices = IndicesOf(access);
      return access.opcode != Opcode::kLoadIf && indices.size() == 1 && indices[0] == loop.index;
    });
  }

  const Kernel& kernel_;
  const Loop& loop_at_top_;
  RowPlan plan_;
};

}  // namespace

int64_t RowElements::Chunks(int64_t threads) const { return (extent + width * threads - 1) / (width * threads); }

int64_t RepeatedLoad::Registers(int64_t threads) const {
  constexpr int64_t kRegisterBytes = 4;
  const auto bytes = static_cast<int64_t>(BytesOf(loads.front()->dtype)) * elements.width;
  return elements.Chunks(threads) * ((bytes + kRegisterBytes - 1) / kRegisterBytes);
}

size_t RowPlan::Alignment() const {
  size_t alignment = 1;
  for (const auto& [loop, row_loop] : loops) {
    for (const Instruction* access : row_loop.accesses) {
      alignment = std::max(alignment, row_loop.elements.width * BytesOf(access->dtype));
    }
  }
  return alignment;
}

int64_t RowPlan::LocalElements(int64_t threads) const {
  int64_t elements = 0;
  for (const auto& [local, of_local] : locals) elements += of_local.Chunks(threads) * of_local.width;
  return elements;
}

RowPlan RowPlanOf(const Kernel& kernel, const Loop& loop_at_top) { return RowPlanner(kernel, loop_at_top).Make(); }

}  // namespace hearth::fuser
