// Which memory nodes of a graph may write while it runs, by classes of aliases, with lists apart from what they hold.
// What comes from outside of the graph (arguments, constants, attributes) may be one and the same memory.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/analysis/aliases.h"
#include "jit/ir/graph.h"

namespace hearth {

class UnitEffects;

// What runs may do to tensors that are the model's: constants, attributes, what is handed to calls.
struct StateWrites {
  bool tensors = false;
  bool shapes = false;  // may give one other sizes or another dtype
};

// Stays right while nodes are moved, destroyed and replaced by others that give the same. A Value that came later is
// taken for one without memory.
class WrittenMemory {
 public:
  // `effects` tells what calls do; null: anything. `by_others` is what runs of the model's other methods may do,
  // between runs of this graph.
  WrittenMemory(const Graph& graph, const UnitEffects* effects, StateWrites by_others = {});

  // Whether somebody may write to the memory of `value`, or to what a list holds, while the graph runs.
  bool MayBeWritten(const Value& value) const;
  // Of a list: whether it may come to hold something else.
  bool MayHoldOthers(const Value& value) const;
  // Whether a tensor may come to have other sizes or another dtype.
  bool MayChangeShape(const Value& value) const;
  // Whether a constant tensor has, whenever the graph runs, the sizes and the dtype that it has now.
  bool ConstantsKeepShape() const { return !by_others_.shapes; }
  // What the graph itself may do.
  const StateWrites& to_state() const { return to_state_; }

  const AliasClasses& aliases() const { return aliases_; }

  struct Writes {
    bool any = false;     // of whatever kind
    bool list = false;    // of lists
    bool length = false;  // of lists, that may change the length
    bool tensor = false;
    bool shape = false;  // that may give a tensor other sizes or another dtype
    void Add(const Writes& other);
  };
  // To a class of aliases().
  const Writes& ToClass(size_t alias_class) const { return writes_[alias_class]; }

 private:
  void FindWrites(const Block& block, const UnitEffects* effects);
  void MergeOutside();
  Writes To(const Value& value) const;

  const AliasClasses aliases_;
  std::vector<Writes> writes_;  // by alias class
  std::vector<Writes> abroad_;  // those of them to what may have been there before the run
  const StateWrites by_others_;
  StateWrites to_state_;
};

}  // namespace hearth
