// Which tensor each tensor of a graph is a view of, where that is sure: its *base*, a Value whose node made the memory
// anew. Of a base all references are known, up to where somebody else may come to have one: an *escape*. Before its
// first escape nobody but the Values listed here can tell that the memory is written, or that it is another memory.
//
// One forward walk. What an operator gives is a base if it shares no memory with what the operator was given; a view of
// known kind and what a write in place gives back have the base of what they are of. What an If gives is a base if each
// branch hands over one that nobody else has from then on. What a loop carries, and what is taken out of a container,
// has none. A list that is only read by operators that make something new of it (torch.cat) is a reference like a view;
// any other container that a tensor is put into is an escape.
//
// The objects and paths of views of benchmarks/experiments/bailout, without loops.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "jit/analysis/program_order.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/ir/graph.h"

namespace hearth {

// Refers to the graph as it is when this is made.
class TensorBases {
 public:
  // `facts` are of all Values of the graph.
  TensorBases(const Graph& graph, const ValueFactTable& facts);

  // Null if it is not known, or if `value` is no tensor.
  const Value* BaseOf(const Value& value) const;
  // Whether a list that nobody else knows holds a tensor with that base.
  bool Holds(const Value& list, const Value& base) const;

  struct References {
    std::vector<const Value*> values;  // the base, its views, and lists that hold one of them
    std::vector<Use> uses;             // of those by nodes
    std::vector<const Node*> escapes;  // nodes after which others may refer to the memory
  };
  const References& ReferencesTo(const Value& base) const { return references_.at(&base); }
  // From now on what has the base `other` has the base `base`.
  void Join(const Value& base, const Value& other);

  const ProgramOrder& order() const { return order_; }

 private:
  void Visit(const Block& block);
  void VisitNode(const Node& node);
  void VisitUse(const Node& node, size_t input, const Value& base);
  void VisitList(const Node& node);
  void FindBases(const Node& node);
  void LeaveBranches(const Node& node);
  bool IsHandedOver(const Value& value, const Node& branches, const Block& from) const;
  bool IsView(const Node& node) const;
  void AddBase(const Value& value);
  void AddStates(const Value& from, const Value& to);
  void AddReference(const Value& value, const Value& base);

  const ValueFactTable& facts_;
  const ProgramOrder order_;
  std::unordered_map<const Value*, const Value*> bases_;                 // of tensors
  std::unordered_map<const Value*, std::vector<const Value*>> holders_;  // lists: the bases of what they hold
  std::unordered_map<const Value*, References> references_;              // by base
};

// Whether the node writes its first input, a tensor, and gives that back.
bool WritesInPlace(const Node& node);

}  // namespace hearth
