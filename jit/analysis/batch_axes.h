// How the Values of a graph depend on the rows of a batch (definitions/batch_state.h): along which axis rows lie beside
// each other, of what they are the same, where they mix. So it is proved that requests whose tensors are put together
// along dimension 0 get what they would get alone, or that they do not.
//
// One forward walk by the rules of definitions/batch_rules.h, with the facts about sizes beside it. An If joins its
// branches if its condition is the same in all runs; what a Loop carries is weakened until a round changes nothing.
// Memory that is written in place is not followed: what writes are not values yet (passes/functionalize.h) make what
// they write unknown.
//
// Of operators without a rule, of calls that were not inlined and of what data decides it is not known what becomes of
// rows, if rows go in; nothing that is said rests on a guess. "Mixed" leaves aside that an operator's operand may be
// without influence (a product with zeros).
#pragma once

#include <span>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/written_memory.h"
#include "jit/definitions/batch_state.h"
#include "jit/ir/graph.h"

namespace hearth {

// Used by one thread; refers to the graph.
class BatchAxes {
 public:
  // `facts` are all inferred, of a graph that is not changed meanwhile. `inputs` says of each of the graph's inputs
  // what it is; dimension 0 of a tensor that is rows is as long as that of every other one.
  BatchAxes(const Graph& graph, ValueFactTable& facts, std::span<const BatchState> inputs);

  const BatchState& Of(const Value& value) const { return states_[value.id()]; }
  // Of a tensor that is rows: how many elements along their axis each row has; unknown if that is not known.
  KnownSize PerRow(const Value& value);

 private:
  BatchState Begin(BatchState state, const ValueFacts& facts);
  void Visit(const Block& block);
  void Visit(const Node& node);
  void VisitIf(const Node& branch);
  void VisitLoop(const Node& loop);
  void VisitTask(const Node& task);
  // Whether it is one of those that the interpreter defines.
  bool VisitPrimitive(const Node& node);
  void VisitOperator(const Node& node);
  BatchState ElementOf(const Node& node, const BatchState& all, const Value& element);
  void Set(const Value& value, BatchState state);
  void SetAll(const Node& node, const BatchState& state);
  void Learn(const ValueFacts& facts, const BatchState& state);
  bool IsWritten(const Value& value) const;

  ValueFactTable& facts_;
  BatchSizes sizes_;
  std::vector<BatchState> states_;  // by Value id
};

}  // namespace hearth
