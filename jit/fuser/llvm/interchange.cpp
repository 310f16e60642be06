#include "jit/fuser/llvm/interchange.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "jit/fuser/ir/rewriting.h"

namespace hearth::fuser {
namespace {

// Rounds of the parallel loop that go together: their accumulators fit into the first-level cache, and the loop over
// them is long enough that its begin and end do not matter.
constexpr int64_t kBlock = 256;

// How an element's address moves with an index.
enum class Step { kNone, kOne, kOther };

class StrideAnalysis {
 public:
  explicit StrideAnalysis(const Kernel& kernel) : kernel_(kernel), definitions_(kernel.num_values) {
    Collect(kernel.prologue);
    Collect(kernel.body);
  }

  Step StepOf(const Instruction& load, ValueId index) const {
    const Buffer& buffer = kernel_.buffers[load.buffer];
    const size_t first = load.opcode == Opcode::kLoadIf ? 1 : 0;
    Step step = Step::kNone;
    for (size_t i = first; i < load.operands.size(); ++i) {
      const Step along = StepOfValue(load.operands[i], index, 0);
      if (along == Step::kNone) continue;
      const bool is_one = along == Step::kOne && step == Step::kNone && IsOne(buffer.strides[i - first]);
      step = is_one ? Step::kOne : Step::kOther;
    }
    return step;
  }

 private:
  void Collect(const Body& body) {
    for (const Statement& statement : body) {
      if (statement.loop != nullptr) {
        Collect(statement.loop->body);
      } else if (statement.instruction.result != kNoValue) {
        definitions_[statement.instruction.result] = &statement.instruction;
      }
    }
  }

  bool IsOne(ValueId value) const {
    const Instruction* definition = definitions_[value];
    return definition != nullptr && definition->opcode == Opcode::kConstant && definition->integer == 1;
  }

  Step StepOfValue(ValueId value, ValueId index, int depth) const {
    if (value == index) return Step::kOne;
    const Instruction* definition = definitions_[value];
    if (definition == nullptr) return Step::kNone;
    // Not worth more: such addresses are not simple.
    if (depth > 16) return Step::kOther;
    int ones = 0;
    for (const ValueId operand : definition->operands) {
      const Step step = StepOfValue(operand, index, depth + 1);
      if (step == Step::kOther) return step;
      ones += step == Step::kOne ? 1 : 0;
    }
    if (ones == 0) return Step::kNone;
    const bool is_sum =
        definition->opcode == Opcode::kAdd || (definition->opcode == Opcode::kSubtract &&
                                               StepOfValue(definition->operands[1], index, depth + 1) == Step::kNone);
    return is_sum && ones == 1 ? Step::kOne : Step::kOther;
  }

  const Kernel& kernel_;
  std::vector<const Instruction*> definitions_;
};

// A parallel loop's body, cut where it has a reduction: instructions, then the reduction that follows them, if any.
struct Part {
  std::vector<Instruction> instructions;
  std::optional<Loop> reduction;
};

class Interchanger {
 public:
  explicit Interchanger(Kernel& draft) : draft_(draft), rewriter_(draft) {}

  void VisitTop() {
    Body body = std::move(draft_.body);
    draft_.body.clear();
    for (Statement& statement : body) {
      if (IsWorthIt(*statement.loop)) {
        draft_.body.push_back(StatementOf(Exchanged(std::move(*statement.loop), &draft_.prologue, true)));
      } else {
        Visit(&statement.loop->body);
        draft_.body.push_back(std::move(statement));
      }
    }
  }

  // Looks at the kernel before anything is changed.
  void Choose() {
    dtypes_ = DtypesOf(draft_);
    const StrideAnalysis strides(draft_);
    ChooseIn(draft_.body, strides);
  }

 private:
  bool IsWorthIt(const Loop& loop) const { return chosen_.contains(loop.index); }

  void ChooseIn(const Body& body, const StrideAnalysis& strides) {
    for (const Statement& statement : body) {
      if (statement.loop == nullptr) continue;
      if (CanBeExchanged(*statement.loop) && Gain(*statement.loop, strides) > 0) {
        chosen_.insert(statement.loop->index);
      } else if (statement.loop->kind != LoopKind::kReduce) {
        ChooseIn(statement.loop->body, strides);
      }
    }
  }

  bool CanBeExchanged(const Loop& loop) const {
    if (loop.kind != LoopKind::kParallel) return false;
    std::set<ValueId> inside = {loop.index};
    for (const Statement& statement : loop.body) {
      if (statement.loop == nullptr) {
        inside.insert(statement.instruction.result);
        if (TouchesLocal(statement.instruction)) return false;
        continue;
      }
      const Loop& inner = *statement.loop;
      if (inner.kind != LoopKind::kReduce || inside.contains(inner.extent)) return false;
      for (const Statement& deeper : inner.body) {
        if (deeper.loop != nullptr || TouchesLocal(deeper.instruction)) return false;
      }
      for (const Accumulator& accumulator : inner.accumulators) {
        if (IsArgReduction(accumulator.reduction)) return false;
        inside.insert(accumulator.result);
      }
    }
    return true;
  }

  bool TouchesLocal(const Instruction& instruction) const {
    return TouchesMemory(instruction.opcode) && draft_.buffers[instruction.buffer].kind == BufferKind::kLocal;
  }

  // Loads in reductions that become consecutive, less those that no longer are.
  static int Gain(const Loop& loop, const StrideAnalysis& strides) {
    int gain = 0;
    for (const Statement& statement : loop.body) {
      if (statement.loop == nullptr) continue;
      for (const Statement& inner : statement.loop->body) {
        const Opcode opcode = inner.instruction.opcode;
        if (opcode != Opcode::kLoad && opcode != Opcode::kLoadIf) continue;
        const Step outside = strides.StepOf(inner.instruction, loop.index);
        const Step inside = strides.StepOf(inner.instruction, statement.loop->index);
        if (outside == Step::kOne) gain += inside == Step::kOne ? 0 : 1;
        if (inside == Step::kOne && outside == Step::kOther) --gain;
      }
    }
    return gain;
  }

  // Whether a loop was exchanged. Then rounds of the loops around it share the new local buffers, so that those are no
  // longer parallel, but for the one at the top.
  bool Visit(Body* body) {
    Body rewritten;
    bool changed = false;
    for (Statement& statement : *body) {
      if (statement.loop != nullptr && IsWorthIt(*statement.loop)) {
        Loop loop = Exchanged(std::move(*statement.loop), &rewritten, false);
        rewritten.push_back(StatementOf(std::move(loop)));
        changed = true;
        continue;
      }
      if (statement.loop != nullptr && Visit(&statement.loop->body)) {
        statement.loop->kind = LoopKind::kSequential;
        changed = true;
      }
      rewritten.push_back(std::move(statement));
    }
    *body = std::move(rewritten);
    return changed;
  }

  // `before` gets what is computed before the loop.
  Loop Exchanged(Loop loop, Body* before, bool at_top) {
    parts_ = PartsOf(loop);
    parallel_index_ = loop.index;
    FindCrossing();
    block_size_ = rewriter_.AppendInteger(&draft_.prologue, kBlock);
    const ValueId more = rewriter_.AppendInteger(before, kBlock - 1);
    const ValueId extended = rewriter_.Append(before, Opcode::kAdd, Dtype::kInt64, {loop.extent, more});
    const ValueId num_blocks = rewriter_.Append(before, Opcode::kFloorDivide, Dtype::kInt64, {extended, block_size_});
    // Blocks share the local buffers, which have a copy for each round of a loop at the top only.
    Loop blocks = EmptyLoop(at_top ? LoopKind::kParallel : LoopKind::kSequential, rewriter_.NewValue(), num_blocks);
    Body& body = blocks.body;
    begin_ = rewriter_.Append(&body, Opcode::kMultiply, Dtype::kInt64, {blocks.index, block_size_});
    const ValueId rest = rewriter_.Append(&body, Opcode::kSubtract, Dtype::kInt64, {loop.extent, begin_});
    count_ = rewriter_.Append(&body, Opcode::kMinimum, Dtype::kInt64, {rest, block_size_});
    for (size_t i = 0; i < parts_.size(); ++i) {
      EmitInstructions(i, &body);
      if (parts_[i].reduction) EmitReduction(i, *parts_[i].reduction, &body);
    }
    return blocks;
  }

  static std::vector<Part> PartsOf(Loop& loop) {
    std::vector<Part> parts(1);
    for (Statement& statement : loop.body) {
      if (statement.loop == nullptr) {
        parts.back().instructions.push_back(std::move(statement.instruction));
      } else {
        parts.back().reduction = std::move(*statement.loop);
        parts.emplace_back();
      }
    }
    return parts;
  }

  // Which values of the loop go from one part to another, or to or from a reduction: each gets a local buffer.
  // Constants are copied to where they are used.
  void FindCrossing() {
    std::map<ValueId, size_t> defined;
    constants_.clear();
    locals_.clear();
    const auto use = [&](ValueId value, size_t place) {
      const auto found = defined.find(value);
      if (found != defined.end() && found->second != place) MakeLocal(value);
    };
    // Part i is place 2 i, its reduction 2 i + 1.
    for (size_t i = 0; i < parts_.size(); ++i) {
      for (const Instruction& instruction : parts_[i].instructions) {
        for (const ValueId operand : instruction.operands) use(operand, 2 * i);
        if (instruction.opcode == Opcode::kConstant) {
          constants_.emplace(instruction.result, instruction);
        } else if (instruction.result != kNoValue) {
          defined[instruction.result] = 2 * i;
        }
      }
      if (!parts_[i].reduction) continue;
      for (const Statement& statement : parts_[i].reduction->body) {
        for (const ValueId operand : statement.instruction.operands) use(operand, 2 * i + 1);
      }
      for (const Accumulator& accumulator : parts_[i].reduction->accumulators) {
        use(accumulator.element, 2 * i + 1);
        MakeLocal(accumulator.result);
        defined[accumulator.result] = 2 * i + 1;
      }
    }
  }

  void MakeLocal(ValueId value) {
    if (locals_.contains(value)) return;
    locals_[value] = static_cast<BufferId>(draft_.buffers.size());
    draft_.buffers.push_back({.kind = BufferKind::kLocal, .dtype = dtypes_[value], .sizes = {}, .strides = {}});
    new_locals_.push_back(locals_[value]);
  }

  // ---- Loops over the rounds of a block ----

  struct RoundsOfBlock {
    Loop loop;
    Substitution substitution;
  };

  RoundsOfBlock BeginRounds() {
    RoundsOfBlock rounds{.loop = EmptyLoop(LoopKind::kParallel, rewriter_.NewValue(), count_), .substitution = {}};
    rounds.substitution[parallel_index_] =
        rewriter_.Append(&rounds.loop.body, Opcode::kAdd, Dtype::kInt64, {begin_, rounds.loop.index});
    return rounds;
  }

  ValueId LoadLocal(RoundsOfBlock* rounds, ValueId value) {
    const ValueId loaded = rewriter_.NewValue();
    rounds->loop.body.push_back(StatementOf(Instruction{.opcode = Opcode::kLoad,
                                                        .dtype = dtypes_[value],
                                                        .result = loaded,
                                                        .operands = {rounds->loop.index},
                                                        .buffer = locals_.at(value)}));
    return loaded;
  }

  void StoreLocal(RoundsOfBlock* rounds, ValueId value, ValueId stored) {
    rounds->loop.body.push_back(StatementOf(Instruction{.opcode = Opcode::kStore,
                                                        .dtype = dtypes_[value],
                                                        .operands = {stored, rounds->loop.index},
                                                        .buffer = locals_.at(value)}));
  }

  // Makes a value of the loop, that another part computed, available.
  void Provide(RoundsOfBlock* rounds, ValueId value) {
    if (rounds->substitution.contains(value)) return;
    if (const auto constant = constants_.find(value); constant != constants_.end()) {
      rewriter_.AppendCopy(&rounds->loop.body, constant->second, &rounds->substitution);
    } else if (locals_.contains(value)) {
      rounds->substitution[value] = LoadLocal(rounds, value);
    }
  }

  void AppendWithOperands(RoundsOfBlock* rounds, const Instruction& instruction) {
    for (const ValueId operand : instruction.operands) Provide(rounds, operand);
    rewriter_.AppendCopy(&rounds->loop.body, instruction, &rounds->substitution);
  }

  void EmitInstructions(size_t part, Body* out) {
    RoundsOfBlock rounds = BeginRounds();
    for (const Instruction& instruction : parts_[part].instructions) {
      if (instruction.opcode == Opcode::kConstant) continue;
      AppendWithOperands(&rounds, instruction);
      if (locals_.contains(instruction.result)) {
        StoreLocal(&rounds, instruction.result, rounds.substitution.at(instruction.result));
      }
    }
    out->push_back(StatementOf(std::move(rounds.loop)));
  }

  void EmitReduction(size_t part, const Loop& reduction, Body* out) {
    RoundsOfBlock first = BeginRounds();
    for (const Accumulator& accumulator : reduction.accumulators) {
      const ValueId identity = rewriter_.NewValue();
      first.loop.body.push_back(StatementOf(IdentityOf(accumulator.reduction, dtypes_[accumulator.result], identity)));
      StoreLocal(&first, accumulator.result, identity);
    }
    out->push_back(StatementOf(std::move(first.loop)));

    Loop rows = EmptyLoop(LoopKind::kSequential, rewriter_.NewValue(), reduction.extent);
    RoundsOfBlock rounds = BeginRounds();
    rounds.substitution[reduction.index] = rows.index;
    for (const Statement& statement : reduction.body) AppendWithOperands(&rounds, statement.instruction);
    for (const Accumulator& accumulator : reduction.accumulators) {
      Provide(&rounds, accumulator.element);
      const ValueId so_far = LoadLocal(&rounds, accumulator.result);
      const ValueId element = Substituted(rounds.substitution, accumulator.element);
      const ValueId next = rewriter_.Append(&rounds.loop.body, OperationOf(accumulator.reduction),
                                            dtypes_[accumulator.result], {so_far, element});
      StoreLocal(&rounds, accumulator.result, next);
    }
    rows.body.push_back(StatementOf(std::move(rounds.loop)));
    out->push_back(StatementOf(std::move(rows)));
  }

  static Opcode OperationOf(Reduction reduction) {
    switch (reduction) {
      case Reduction::kSum:
        return Opcode::kAdd;
      case Reduction::kProduct:
        return Opcode::kMultiply;
      case Reduction::kMinimum:
        return Opcode::kMinimum;
      default:
        return Opcode::kMaximum;
    }
  }

  static Instruction IdentityOf(Reduction reduction, Dtype dtype, ValueId result) {
    Instruction constant{.opcode = Opcode::kConstant, .dtype = dtype, .result = result};
    const bool is_product = reduction == Reduction::kProduct;
    if (reduction == Reduction::kSum || is_product) {
      constant.integer = is_product && !IsFloating(dtype) ? 1 : 0;
      constant.real = is_product && IsFloating(dtype) ? 1 : 0;
      return constant;
    }
    const bool is_minimum = reduction == Reduction::kMinimum;
    if (IsFloating(dtype)) {
      constant.real = is_minimum ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    } else if (dtype == Dtype::kBool || dtype == Dtype::kUint8) {
      constant.integer = is_minimum ? (dtype == Dtype::kBool ? 1 : 255) : 0;
    } else {
      const int unused = 64 - static_cast<int>(BytesOf(dtype)) * 8;
      constant.integer =
          is_minimum ? std::numeric_limits<int64_t>::max() >> unused : std::numeric_limits<int64_t>::min() >> unused;
    }
    return constant;
  }

 public:
  // The new local buffers have a block's elements.
  void SizeLocals() {
    for (const BufferId local : new_locals_) draft_.buffers[local].sizes = {block_size_};
  }

 private:
  Kernel& draft_;
  Rewriter rewriter_;
  std::vector<Dtype> dtypes_;
  std::set<ValueId> chosen_;  // the indices of the loops
  std::vector<BufferId> new_locals_;
  ValueId block_size_ = kNoValue;
  // Of the loop at hand.
  std::vector<Part> parts_;
  ValueId parallel_index_ = kNoValue;
  ValueId begin_ = kNoValue;
  ValueId count_ = kNoValue;
  std::map<ValueId, Instruction> constants_;
  std::map<ValueId, BufferId> locals_;
};

}  // namespace

void InterchangeReductions(Kernel& draft) {
  Interchanger interchanger(draft);
  interchanger.Choose();
  interchanger.VisitTop();
  interchanger.SizeLocals();
}

}  // namespace hearth::fuser
