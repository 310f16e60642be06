// Which values of a Graph may share memory or hold one another, as classes of a partition: two values in different
// classes never do. Coarse on purpose (what holds something is one class with it, the order of things is not looked
// at), so that it is linear in the Graph and cheap enough for loading.
//
// On demand lists are told apart from their elements: then a list's class has another class for all that it holds, and
// to write to the one is not to write to the other. Tuples, dicts and objects stay one with what they hold.
//
// Steensgaard's unification (Points-to analysis in almost linear time, 1996), over values that have memory (see
// HasMemory).
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/ir/graph.h"

namespace hearth {

class UnitEffects;

// A Value that came later is taken for one without memory.
class AliasClasses {
 public:
  // `effects` tells what calls do; null: anything. Where `self` is given, the object that the first input is bound to,
  // attributes of objects that are known by identity (it and constants) are classes apart from their objects: whoever
  // asks keeps account of what is stored where.
  enum class Lists { kWithElements, kApart };
  explicit AliasClasses(const Graph& graph, const UnitEffects* effects = nullptr,
                        const c10::ivalue::Object* self = nullptr, Lists lists = Lists::kWithElements);

  static constexpr size_t kNoMemory = static_cast<size_t>(-1);
  // The class of a value; kNoMemory if it has no memory, or came later. Below value_id_bound.
  size_t ClassOf(const Value& value) const;
  // The class of what the lists in this class hold, where lists are apart; kNoMemory if it is this class, or if nobody
  // has asked what they hold.
  size_t ElementsOf(size_t alias_class) const;
  // Calls `visit` with the class and every class that can be reached from it.
  template <typename Visit>
  void ForEachReachable(size_t alias_class, Visit visit) const {
    for (; alias_class != kNoMemory; alias_class = ElementsOf(alias_class)) visit(alias_class);
  }
  // Classes are numbered below this.
  size_t bound() const { return parent_.size(); }

  struct Facts {
    bool state = false;     // may be reached from an object that the Graph is given, or from a constant
    bool constant = false;  // may be reached from a constant (state is set too)
    bool argument = false;  // may be reached from another input of the Graph
    bool returned = false;  // may be reached from an output of the Graph
    bool written = false;   // some node may write it, or the baseline after a bailout
    bool called = false;    // handed to a call that is not seen through
    bool outlives() const { return state || argument || returned || called; }
    bool operator==(const Facts&) const = default;
  };
  // Of a class (not kNoMemory).
  const Facts& FactsOf(size_t alias_class) const { return facts_[alias_class]; }

 private:
  void VisitBlock(const Block& block);
  void VisitNode(const Node& node);
  void VisitOperator(const Node& node);
  void VisitCall(const Node& node);
  void VisitFrameState(const Node& node);
  size_t Find(size_t id) const;
  Facts* FactsFor(const Value& value);
  void Unify(const Value& a, const Value& b);
  void UnifyClasses(size_t a, size_t b);
  void UnifyAll(const Node& node);
  // Of lists that are apart from their elements.
  bool VisitListOperator(const Node& node);
  size_t Elements(const Value& list);
  void UnifyElements(const Value& list, const Value& element);
  void Collapse(const Value& value);
  void CollapseAll(const Node& node);
  void SpreadToElements();

  const UnitEffects* effects_;
  const c10::ivalue::Object* self_;
  const bool apart_;
  const size_t value_bound_;
  mutable std::vector<size_t> parent_;  // by value id; then of elements that are no value
  std::vector<Facts> facts_;            // likewise; meaningful at roots
  std::vector<size_t> elements_;        // likewise
  std::vector<bool> has_memory_;        // by value id
  std::vector<const Value*> written_by_baseline_;
};

// The object that `value` is in every run: a constant, or the first input of a Graph bound to `self`. Null if there is
// none.
const c10::ivalue::Object* KnownObject(const Value& value, const c10::ivalue::Object* self);

}  // namespace hearth
