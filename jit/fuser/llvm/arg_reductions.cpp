#include "jit/fuser/llvm/arg_reductions.h"

#include <algorithm>
#include <limits>

#include "jit/fuser/ir/rewriting.h"

namespace hearth::fuser {
namespace {

bool CanBeSplit(const Loop& loop) {
  return std::any_of(loop.accumulators.begin(), loop.accumulators.end(),
                     [](const Accumulator& accumulator) { return IsArgReduction(accumulator.reduction); }) &&
         std::all_of(loop.body.begin(), loop.body.end(), [](const Statement& statement) {
           return statement.loop == nullptr && statement.instruction.opcode != Opcode::kStore;
         });
}

class ArgReductionSplitter {
 public:
  explicit ArgReductionSplitter(Kernel& draft) : rewriter_(draft), dtypes_(DtypesOf(draft)) {}

  void Visit(Body* body) {
    Body rewritten;
    for (Statement& statement : *body) {
      if (statement.loop != nullptr && CanBeSplit(*statement.loop)) {
        Split(std::move(*statement.loop), &rewritten);
        continue;
      }
      if (statement.loop != nullptr) Visit(&statement.loop->body);
      rewritten.push_back(std::move(statement));
    }
    *body = std::move(rewritten);
  }

 private:
  void Split(Loop loop, Body* out) {
    std::vector<Accumulator> places;  // the elements and results of `loop`'s; `reduction` is not used
    std::vector<ValueId> extremes;
    const Body body = CopyOf(loop.body);
    for (Accumulator& accumulator : loop.accumulators) {
      if (!IsArgReduction(accumulator.reduction)) continue;
      places.push_back(accumulator);
      accumulator.reduction =
          accumulator.reduction == Reduction::kArgMinimum ? Reduction::kMinimum : Reduction::kMaximum;
      accumulator.result = rewriter_.NewValue();
      extremes.push_back(accumulator.result);
    }
    Loop search = EmptyLoop(LoopKind::kReduce, rewriter_.NewValue(), loop.extent);
    const ValueId index = loop.index;
    out->push_back(StatementOf(std::move(loop)));
    const ValueId largest = rewriter_.AppendInteger(out, std::numeric_limits<int64_t>::max());
    const ValueId zero = rewriter_.AppendInteger(out, 0);

    Substitution substitution = {{index, search.index}};
    for (const Statement& statement : body) {
      rewriter_.AppendCopy(&search.body, statement.instruction, &substitution);
    }
    for (size_t i = 0; i < places.size(); ++i) {
      const ValueId element = Substituted(substitution, places[i].element);
      const ValueId matches = Matches(&search.body, element, extremes[i], dtypes_[places[i].element]);
      const ValueId place =
          rewriter_.Append(&search.body, Opcode::kSelect, Dtype::kInt64, {matches, search.index, largest});
      search.accumulators.push_back({Reduction::kMinimum, place, rewriter_.NewValue()});
    }
    const std::vector<Accumulator> found = search.accumulators;
    out->push_back(StatementOf(std::move(search)));
    for (size_t i = 0; i < places.size(); ++i) {
      const ValueId none = rewriter_.Append(out, Opcode::kEqual, Dtype::kBool, {found[i].result, largest});
      out->push_back(StatementOf(Instruction{.opcode = Opcode::kSelect,
                                             .dtype = Dtype::kInt64,
                                             .result = places[i].result,
                                             .operands = {none, zero, found[i].result}}));
    }
  }

  // Where there is a NaN it is the extreme, and else no element is one.
  ValueId Matches(Body* body, ValueId element, ValueId extreme, Dtype dtype) {
    const ValueId equal = rewriter_.Append(body, Opcode::kEqual, Dtype::kBool, {element, extreme});
    if (!IsFloating(dtype)) return equal;
    const ValueId nan = rewriter_.Append(body, Opcode::kNotEqual, Dtype::kBool, {element, element});
    return rewriter_.Append(body, Opcode::kOr, Dtype::kBool, {equal, nan});
  }

  Rewriter rewriter_;
  const std::vector<Dtype> dtypes_;
};

}  // namespace

void SplitArgReductions(Kernel& draft) { ArgReductionSplitter(draft).Visit(&draft.body); }

}  // namespace hearth::fuser
