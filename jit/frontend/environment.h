// What the names of a function mean at the point that is being compiled. Scopes nest as blocks do; leaving a scope
// undoes its bindings and tells what they were, from which the emitter makes the outputs of prim::If and prim::Loop.
// Costs are those of the bindings made, whatever the number of variables: an undo log, no copies of the environment.
//
// Names are interned per function; the text they view must outlive the environment.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jit/frontend/sugared_value.h"

namespace hearth {

class Environment {
 public:
  using VariableId = uint32_t;

  struct Binding {
    SugaredValue value;  // Unbound where the name means nothing
    TypePtr declared;    // what an annotation said, or null
    uint32_t depth = 0;  // the scope it was made in
    // Where a condition has told more about the type, the variable's value before that: not an assignment.
    Value* original = nullptr;

    bool bound() const { return !std::holds_alternative<Unbound>(value); }
    // The SSA value, or null.
    Value* ssa() const {
      Value* const* held = std::get_if<Value*>(&value);
      return held ? *held : nullptr;
    }
    // The type that a value joining this variable must fit: the declared one, else the value's.
    TypePtr type() const { return declared ? declared : ssa()->type(); }
  };

  // A binding that a scope made and that was undone when the scope was left.
  struct Change {
    VariableId id;
    Binding inside;
  };

  VariableId Id(std::string_view name);
  std::string_view Name(VariableId id) const { return names_[id]; }

  const Binding& Find(VariableId id) const { return bindings_[id]; }
  const Binding* Find(std::string_view name) const;
  void Set(VariableId id, SugaredValue value, TypePtr declared = nullptr);

  // Binds the same value under a narrower type.
  void SetRefined(VariableId id, Value* refined, Value* original);

  void PushScope();
  // In the order in which the names were first bound. Refinements of what is bound outside are no changes; they are put
  // into `refinements` where it is given.
  std::vector<Change> PopScope(std::vector<Change>* refinements = nullptr);
  uint32_t depth() const { return static_cast<uint32_t>(scope_starts_.size()); }

 private:
  struct LogEntry {
    VariableId id;
    Binding before;
  };

  std::unordered_map<std::string_view, VariableId> ids_;
  std::vector<std::string_view> names_;
  std::vector<Binding> bindings_;
  std::vector<LogEntry> log_;
  std::vector<size_t> scope_starts_;  // into log_
};

}  // namespace hearth
