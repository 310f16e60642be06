// The facts (value_facts.h) of a graph's Values, in every run whose arguments have given facts. Sizes and numbers of
// which nothing is known are atoms of their own, so that those of two Values are known to be equal wherever they are.
//
// One forward walk over structured control flow: an If joins its branches, what a Loop carries is weakened until a
// round changes nothing. Operators give facts by their definitions (definitions/operator_facts.h); others give none.
// Facts hold for a Value's whole life: of tensors that may be given other sizes or dtypes in place, and of lists that
// may be written, nothing is known, and arguments and constants count as possibly the same tensor.
//
// A branch that raises unless a tensor has so many dimensions tells the rank to what comes after it; a guard the rank
// or the dtype; both that two numbers are equal, or lists of them, that one is a constant, or which of two is larger.
// The blocks of an If learn what its condition says of numbers. What is told about numbers holds to the end of the
// block (see Scope).
//
// Facts never contradict a Value's type: where they would, no run comes to have it (a None that was cast to a float, in
// a branch that is not taken).
//
// Assumes that no autocast is on around the run (regions in the code are casts by now).
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "jit/analysis/argument_spec.h"
#include "jit/analysis/written_memory.h"
#include "jit/definitions/size_algebra.h"
#include "jit/definitions/value_facts.h"
#include "jit/ir/graph.h"

namespace hearth {

// Used by one thread; refers to the Graph. While the Graph is being changed it stays right as long as new nodes only
// give what old Values gave: their facts are asked for with Infer.
class ValueFactTable {
 public:
  // One argument for each of the graph's inputs, or none at all. `memory` is of the same graph. Sizes are numbers of
  // `sizes`, in which the same size of the same Value is the same atom however often it is inferred. Both must outlive
  // this.
  ValueFactTable(const Graph& graph, std::span<const ArgumentFacts> arguments, const WrittenMemory& memory,
                 SizeAlgebra& sizes);

  const ValueFacts& Of(const Value& value) const;

  // Walks the whole graph. What is told on the way is forgotten at the end, but by what was inferred from it.
  void InferAll();
  // A walk over a block is in one of these, so that nobody beyond the block relies on what is learned in it. In the
  // block of a branch it is learned what its condition says.
  class Scope {
   public:
    Scope(ValueFactTable* table, const Block& block);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ValueFactTable* table_;
    size_t facts_, bounds_;  // that were to be undone when it began
  };
  // The facts of what a node without blocks gives, from those of its inputs.
  void Infer(const Node& node);
  // Before a walk over the blocks of a node: of their parameters.
  void Enter(const Node& node);
  // After a walk over its blocks: of what it gives.
  void Leave(const Node& node);

  const WrittenMemory& memory() const { return memory_; }
  SizeAlgebra& sizes() { return sizes_; }

 private:
  void InferBlock(const Block& block);
  void InferNode(const Node& node);
  void EnterLoop(const Node& loop);
  void LearnFrom(const Node& branch);
  // Sets what one of two branches gives.
  void JoinBranches(const Value& output, const ValueFacts& a, const ValueFacts& b);
  // What `condition` tells if it is known to be `holds` from there on, of Values that are defined in `block`.
  void Learn(const Value& condition, bool holds, const Block& block);
  // Of its operands: that they are equal, or which is larger.
  void LearnRelation(const Node& comparison, bool holds);
  void LearnEqual(const Value& a, const Value& b);
  void LearnEqual(KnownSize a, KnownSize b);
  // Makes atoms of what is not known.
  void Name(const Value& value, ValueFacts* facts);
  void NameArgument(const ArgumentFacts& argument, size_t input, size_t* number, ValueFacts* facts);
  void Set(const Value& value, ValueFacts facts);
  void Weaken(ValueFacts* facts, size_t alias_class) const;

  const Graph& graph_;
  const WrittenMemory& memory_;
  SizeAlgebra& sizes_;
  std::vector<ValueFacts> facts_;
  std::vector<std::pair<size_t, ValueFacts>> undo_;  // by Value id: facts as they were before something was learned
  std::vector<SizeAlgebra::Bounds> bounds_;          // the same of bounds
  size_t loop_depth_ = 0;
};

}  // namespace hearth
