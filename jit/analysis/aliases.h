// Which values of a Graph may share memory or hold one another, as classes of a partition: two values in different
// classes never do. Coarse on purpose (a list and its elements are one class, the order of things is not looked at), so
// that it is linear in the Graph and cheap enough for loading.
//
// Steensgaard's unification, over values that have memory (see HasMemory).
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/ir/graph.h"

namespace hearth {

class UnitEffects;

// Refers to the Graph, which must not change while this is in use.
class AliasClasses {
 public:
  // `effects` tells what calls do; null: anything. Where `self` is given, the object that the first input is bound to,
  // attributes of objects that are known by identity (it and constants) are classes apart from their objects: whoever
  // asks keeps account of what is stored where.
  explicit AliasClasses(const Graph& graph, const UnitEffects* effects = nullptr,
                        const c10::ivalue::Object* self = nullptr);

  static constexpr size_t kNoMemory = static_cast<size_t>(-1);
  // The class of a value; kNoMemory if it has no memory. Below value_id_bound.
  size_t ClassOf(const Value& value) const;

  struct Facts {
    bool state = false;     // may be reached from an object that the Graph is given, or from a constant
    bool constant = false;  // may be reached from a constant (state is set too)
    bool argument = false;  // may be reached from another input of the Graph
    bool returned = false;  // may be reached from an output of the Graph
    bool written = false;   // some node may write it
    bool called = false;    // handed to a call that is not seen through
    bool outlives() const { return state || argument || returned || called; }
  };
  // Of a class (not kNoMemory).
  const Facts& FactsOf(size_t alias_class) const { return facts_[alias_class]; }
  // Of every class together.
  Facts AllFacts() const;

 private:
  void VisitBlock(const Block& block);
  void VisitNode(const Node& node);
  void VisitOperator(const Node& node);
  void VisitCall(const Node& node);
  size_t Find(size_t id) const;
  Facts* FactsFor(const Value& value);
  void Unify(const Value& a, const Value& b);
  void UnifyAll(const Node& node);

  const UnitEffects* effects_;
  const c10::ivalue::Object* self_;
  mutable std::vector<size_t> parent_;  // by value id
  std::vector<Facts> facts_;            // by value id; meaningful at roots
  std::vector<bool> has_memory_;        // by value id
};

// The object that `value` is in every run: a constant, or the first input of a Graph bound to `self`. Null if there is
// none.
const c10::ivalue::Object* KnownObject(const Value& value, const c10::ivalue::Object* self);

}  // namespace hearth
