// The constants of a graph that is being made: each is put into the graph when it is first used, at the graph's top,
// and equal scalars are one constant.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/ir/graph.h"

namespace hearth {

// Used by the one thread that makes the graph, which must outlive it.
class ConstantTable {
 public:
  struct Entry {
    c10::IValue value;
    TypePtr type;
    Value* materialized = nullptr;  // in the innermost scope, once used
    std::string name;               // attribute path, if it is an attribute
    c10::IValue instance;           // object that it is an attribute of, or None
    size_t slot = 0;
  };

  explicit ConstantTable(Graph* graph) : graph_(graph) { scopes_.push_back({graph->block(), nullptr, {}}); }

  // A constant as such. Null type: as the value says.
  Entry* Of(c10::IValue value, TypePtr type = nullptr);
  // An attribute of an object; the same entry each time it is asked for.
  Entry* OfAttribute(const Entry& object, size_t slot);
  // The object that a value of the graph (its self input) is bound to.
  Entry* OfBound(c10::IValue object, TypePtr type, Value* value);

  // From here on constants are put into a closure's body; until its end those around it are not seen.
  void BeginClosure(Block* body);
  void EndClosure();

  // The value of it here.
  Value* Materialize(Entry* entry, const SourceRange& range);

 private:
  struct SlotHash {
    size_t operator()(const std::pair<const void*, size_t>& key) const {
      return std::hash<const void*>()(key.first) * 31 + key.second;
    }
  };
  struct Scope {
    Block* block;
    Node* last;                                     // constant put in most recently
    std::vector<std::pair<Entry*, Value*>> hidden;  // what the scopes around have
  };

  Graph* graph_;
  std::vector<Scope> scopes_;  // innermost last
  std::deque<Entry> entries_;
  std::unordered_map<std::string, Entry*> scalars_;
  std::unordered_map<std::pair<const void*, size_t>, Entry*, SlotHash> attributes_;
};

// The type of a constant: what the value says where that is more precise than what was declared and says no more than
// the language's type (no sizes).
TypePtr PreciseType(const c10::IValue& value, const TypePtr& declared);

}  // namespace hearth
