#include "jit/fuser/ir/compaction.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace hearth::fuser {
namespace {

// Finds what is used: a worklist of values, each with its definition.
class UseMarker {
 public:
  explicit UseMarker(const Kernel& kernel)
      : kernel_(kernel), definitions_(kernel.num_values), used_(kernel.num_values, false) {
    used_buffers_.assign(kernel.buffers.size(), false);
    Index(kernel.prologue, nullptr);
    Index(kernel.body, nullptr);
    for (BufferId i = 0; i < kernel.buffers.size(); ++i) {
      if (kernel.buffers[i].kind != BufferKind::kLocal) UseBuffer(i);
    }
    for (const auto& [store, loop] : stores_) {
      if (kernel.buffers[store->buffer].kind == BufferKind::kLocal) continue;
      UseInstruction(*store);
      UseLoop(loop);
    }
    while (!open_.empty()) {
      const Definition definition = definitions_[open_.back()];
      open_.pop_back();
      UseLoop(definition.loop);
      if (definition.instruction != nullptr) UseInstruction(*definition.instruction);
      if (definition.accumulator != nullptr) UseValue(definition.accumulator->element);
      if (definition.carried != nullptr) {
        UseValue(definition.carried->initial);
        UseValue(definition.carried->next);
      }
    }
  }

  bool IsUsed(ValueId value) const { return used_[value]; }
  bool IsUsed(const Carried& carried) const { return used_[carried.value] || used_[carried.result]; }
  bool IsUsed(const Loop& loop) const { return loops_.at(&loop).used; }
  bool IsUsedBuffer(BufferId buffer) const { return used_buffers_[buffer]; }

 private:
  struct Definition {
    const Instruction* instruction = nullptr;
    const Accumulator* accumulator = nullptr;
    const Carried* carried = nullptr;
    const Loop* loop = nullptr;  // the innermost that runs where the value is used or made
  };
  struct LoopUse {
    const Loop* parent;
    bool used;
  };

  void Index(const Body& body, const Loop* parent) {
    for (const Statement& statement : body) {
      if (statement.loop != nullptr) {
        IndexLoop(*statement.loop, parent);
      } else if (statement.instruction.opcode == Opcode::kStore) {
        stores_.emplace_back(&statement.instruction, parent);
      } else {
        definitions_[statement.instruction.result] = {.instruction = &statement.instruction, .loop = parent};
      }
    }
  }

  void IndexLoop(const Loop& loop, const Loop* parent) {
    loops_[&loop] = {parent, false};
    definitions_[loop.index].loop = &loop;
    for (const Carried& carried : loop.carried) {
      definitions_[carried.value] = definitions_[carried.result] = {.carried = &carried, .loop = &loop};
    }
    for (const Accumulator& accumulator : loop.accumulators) {
      definitions_[accumulator.result] = {.accumulator = &accumulator, .loop = &loop};
    }
    Index(loop.body, &loop);
  }

  void UseValue(ValueId value) {
    if (used_[value]) return;
    used_[value] = true;
    open_.push_back(value);
  }

  void UseInstruction(const Instruction& instruction) {
    for (const ValueId operand : instruction.operands) UseValue(operand);
    if (TouchesMemory(instruction.opcode)) UseBuffer(instruction.buffer);
  }

  void UseBuffer(BufferId buffer) {
    if (used_buffers_[buffer]) return;
    used_buffers_[buffer] = true;
    for (const ValueId size : kernel_.buffers[buffer].sizes) UseValue(size);
    for (const ValueId stride : kernel_.buffers[buffer].strides) UseValue(stride);
    if (kernel_.buffers[buffer].kind != BufferKind::kLocal) return;
    for (const auto& [store, loop] : stores_) {
      if (store->buffer != buffer) continue;
      UseInstruction(*store);
      UseLoop(loop);
    }
  }

  void UseLoop(const Loop* loop) {
    while (loop != nullptr) {
      LoopUse& use = loops_.at(loop);
      if (use.used) return;
      use.used = true;
      UseValue(loop->extent);
      loop = use.parent;
    }
  }

  const Kernel& kernel_;
  std::vector<Definition> definitions_;
  std::vector<bool> used_;
  std::vector<bool> used_buffers_;
  std::unordered_map<const Loop*, LoopUse> loops_;
  std::vector<std::pair<const Instruction*, const Loop*>> stores_;
  std::vector<ValueId> open_;
};

void DropUnused(Body* body, const UseMarker& marker) {
  std::erase_if(*body, [&marker](const Statement& statement) {
    if (statement.loop != nullptr) return !marker.IsUsed(*statement.loop);
    const Instruction& instruction = statement.instruction;
    return instruction.opcode == Opcode::kStore ? !marker.IsUsedBuffer(instruction.buffer)
                                                : !marker.IsUsed(instruction.result);
  });
  for (Statement& statement : *body) {
    if (statement.loop == nullptr) continue;
    Loop& loop = *statement.loop;
    std::erase_if(loop.accumulators,
                  [&](const Accumulator& accumulator) { return !marker.IsUsed(accumulator.result); });
    std::erase_if(loop.carried, [&](const Carried& carried) { return !marker.IsUsed(carried); });
    if (loop.kind == LoopKind::kReduce && loop.accumulators.empty()) loop.kind = LoopKind::kParallel;
    DropUnused(&loop.body, marker);
  }
}

// Gives values their numbers, in the order of the definitions.
class Numbering {
 public:
  explicit Numbering(size_t num_values) : numbers_(num_values, kNoValue) {}

  void Define(ValueId* value) {
    numbers_[*value] = next_;
    *value = next_++;
  }
  void Use(ValueId* value) const { *value = numbers_[*value]; }
  void Use(std::vector<ValueId>* values) const {
    for (ValueId& value : *values) Use(&value);
  }

  void Renumber(Body* body, const std::vector<BufferId>& buffers) {
    for (Statement& statement : *body) {
      if (statement.loop != nullptr) {
        RenumberLoop(statement.loop.get(), buffers);
        continue;
      }
      Instruction& instruction = statement.instruction;
      Use(&instruction.operands);
      if (TouchesMemory(instruction.opcode)) instruction.buffer = buffers[instruction.buffer];
      if (instruction.result != kNoValue) Define(&instruction.result);
    }
  }

  ValueId next() const { return next_; }

 private:
  void RenumberLoop(Loop* loop, const std::vector<BufferId>& buffers) {
    Use(&loop->extent);
    for (Carried& carried : loop->carried) Use(&carried.initial);
    Define(&loop->index);
    for (Carried& carried : loop->carried) Define(&carried.value);
    Renumber(&loop->body, buffers);
    for (Carried& carried : loop->carried) Use(&carried.next);
    for (Accumulator& accumulator : loop->accumulators) Use(&accumulator.element);
    for (Carried& carried : loop->carried) Define(&carried.result);
    for (Accumulator& accumulator : loop->accumulators) Define(&accumulator.result);
  }

  std::vector<ValueId> numbers_;
  ValueId next_ = 0;
};

}  // namespace

Kernel Compact(Kernel draft, std::span<const ValueId> symbols) {
  std::vector<Buffer> buffers;
  std::vector<BufferId> buffer_numbers(draft.buffers.size(), 0);
  {
    const UseMarker marker(draft);
    for (const BufferKind kind : {BufferKind::kInput, BufferKind::kOutput, BufferKind::kLocal}) {
      for (BufferId i = 0; i < draft.buffers.size(); ++i) {
        if (draft.buffers[i].kind != kind || !marker.IsUsedBuffer(i)) continue;
        buffer_numbers[i] = static_cast<BufferId>(buffers.size());
        buffers.push_back(draft.buffers[i]);
      }
    }
    DropUnused(&draft.prologue, marker);
    DropUnused(&draft.body, marker);
  }
  draft.buffers = std::move(buffers);

  Numbering numbering(draft.num_values);
  for (ValueId symbol : symbols) numbering.Define(&symbol);
  numbering.Renumber(&draft.prologue, buffer_numbers);
  for (Buffer& buffer : draft.buffers) {
    numbering.Use(&buffer.sizes);
    numbering.Use(&buffer.strides);
  }
  numbering.Renumber(&draft.body, buffer_numbers);
  draft.num_values = numbering.next();
  return draft;
}

}  // namespace hearth::fuser
