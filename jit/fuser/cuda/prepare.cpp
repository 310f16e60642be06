#include "jit/fuser/cuda/prepare.h"

#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "jit/fuser/cuda/buffer_accesses.h"
#include "jit/fuser/ir/compaction.h"
#include "jit/fuser/ir/rewriting.h"

namespace hearth::fuser {
namespace {

class Flattener {
 public:
  explicit Flattener(Kernel& draft) : draft_(draft), rewriter_(draft) {
    for (ValueId symbol = 0; symbol < draft.symbols.size(); ++symbol) at_top_.insert(symbol);
    for (const Statement& statement : draft.prologue) at_top_.insert(statement.instruction.result);
  }

  void Run() {
    for (Statement& statement : draft_.body) {
      while (CanBeFlattened(*statement.loop)) Flatten(statement.loop.get());
    }
  }

 private:
  bool CanBeFlattened(const Loop& loop) const {
    if (loop.body.empty() || loop.body.back().loop == nullptr) return false;
    const Loop& inner = *loop.body.back().loop;
    if (inner.kind != LoopKind::kParallel || !at_top_.contains(inner.extent)) return false;
    const BufferAccesses inside = AccessesOf(inner.body);
    for (const BufferId buffer : inside.all()) {
      if (draft_.buffers[buffer].kind == BufferKind::kLocal) return false;
    }
    for (size_t i = 0; i + 1 < loop.body.size(); ++i) {
      if (loop.body[i].loop != nullptr) return false;
      const Instruction& instruction = loop.body[i].instruction;
      if (instruction.opcode == Opcode::kStore) return false;
      if (!TouchesMemory(instruction.opcode)) continue;
      if (draft_.buffers[instruction.buffer].kind == BufferKind::kLocal) return false;
      if (inside.stored.contains(instruction.buffer)) return false;
    }
    return true;
  }

  // A loop without rounds may have a negative extent, and two of those must not become one with rounds.
  void Flatten(Loop* loop) {
    const std::unique_ptr<Loop> inner = std::move(loop->body.back().loop);
    loop->body.pop_back();
    const ValueId zero = rewriter_.AppendInteger(&draft_.prologue, 0);
    const ValueId outer_rounds = AppendAtTop(Opcode::kMaximum, {loop->extent, zero});
    const ValueId outer_index = loop->index;
    loop->extent = AppendAtTop(Opcode::kMultiply, {outer_rounds, inner->extent});
    loop->index = rewriter_.NewValue();

    Body body;
    const auto append = [&](Opcode opcode, ValueId result, ValueId a, ValueId b) {
      body.push_back(
          StatementOf(Instruction{.opcode = opcode, .dtype = Dtype::kInt64, .result = result, .operands = {a, b}}));
    };
    append(Opcode::kDivide, outer_index, loop->index, inner->extent);
    const ValueId begin = rewriter_.NewValue();
    append(Opcode::kMultiply, begin, outer_index, inner->extent);
    append(Opcode::kSubtract, inner->index, loop->index, begin);
    for (Body* part : {&loop->body, &inner->body}) std::move(part->begin(), part->end(), std::back_inserter(body));
    loop->body = std::move(body);
  }

  ValueId AppendAtTop(Opcode opcode, std::vector<ValueId> operands) {
    const ValueId result = rewriter_.Append(&draft_.prologue, opcode, Dtype::kInt64, std::move(operands));
    at_top_.insert(result);
    return result;
  }

  Kernel& draft_;
  Rewriter rewriter_;
  std::set<ValueId> at_top_;  // symbols and the values of the prologue
};

}  // namespace

Kernel PrepareForCuda(const Kernel& kernel) {
  Kernel draft = CopyOf(kernel);
  Flattener(draft).Run();
  std::vector<ValueId> symbols(draft.symbols.size());
  std::iota(symbols.begin(), symbols.end(), 0);
  return Compact(std::move(draft), symbols);
}

}  // namespace hearth::fuser
