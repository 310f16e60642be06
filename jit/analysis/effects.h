// What the methods and functions of one CompilationUnit do beside computing: which attributes they assign, what they
// write, whether they draw random numbers or act on the world. Freezing and the order of runs rest on it.
#pragma once

#include <ATen/core/class_type.h>

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "jit/ir/graph.h"
#include "jit/module/compilation_unit.h"

namespace hearth {

struct FunctionEffects {
  bool writes = false;            // memory reached from an argument
  bool writes_constants = false;  // memory reached from a constant in its code
  bool random = false;            // draws random numbers
  bool seeds = false;             // sets the process's random generators
  bool acts = false;              // prints, warns, changes global state
};

// Made while an archive loads; thread-safe from then on. Answers are remembered. The unit must outlive it.
class UnitEffects {
 public:
  // Emits every function of the unit and finds all assignments. Throws CompileError.
  explicit UnitEffects(const CompilationUnit& unit);

  // Whether a method assigns this attribute of an object that already exists. What __init__ and __setstate__ assign to
  // the object that they make does not count.
  bool IsAssigned(const c10::ClassType& type, size_t slot) const;

  // Whether some method may write to a list or dict that is of this type or within it, unless it has made that itself.
  bool MayBeFilled(const c10::Type& type) const;

  // Whether a run of `graph` may write memory that other runs see: attributes of the objects it is given, the tensors
  // and containers in them, constants.
  bool WritesState(const Graph& graph) const;
  // Whether a run may write what its other arguments refer to.
  bool WritesArguments(const Graph& graph) const;
  FunctionEffects Of(const Graph& graph) const;

  FunctionEffects Of(torch::jit::Function* function) const;
  // Of a prim::CallFunction, prim::CallMethod or prim::With. A call through an interface does what any method of that
  // name in the unit does.
  FunctionEffects OfCall(const Node& node) const;

 private:
  struct Construction {
    const c10::ClassType* type;
    size_t slot;
    std::string method;
  };
  struct SlotHash {
    size_t operator()(const std::pair<const c10::ClassType*, size_t>& slot) const {
      return std::hash<const void*>()(slot.first) * 31 + slot.second;
    }
  };

  void FindAssignments(const Function& function, const Block& block);
  void FindFillings(const Node& node);
  FunctionEffects OfMethod(const TypePtr& receiver, const std::string& name) const;
  template <typename Predicate>
  bool AnyClass(const Graph& graph, Predicate predicate) const;
  // All but what is written to arguments.
  void AddBlockEffects(const Block& block, FunctionEffects* effects) const;

  const CompilationUnit& unit_;
  std::unordered_set<std::pair<const c10::ClassType*, size_t>, SlotHash> assigned_;
  std::vector<Construction> constructions_;
  // Classes and constructors that are called on objects which exist already.
  std::vector<std::pair<const c10::ClassType*, std::string>> reconstructed_;
  // Lists and dicts that may be written, by the names of their types.
  std::unordered_set<std::string> filled_;
  // Held while the effects of a function are found, which asks for those of the functions that it calls.
  mutable std::recursive_mutex mutex_;
  mutable std::unordered_map<const torch::jit::Function*, FunctionEffects> known_;
};

}  // namespace hearth
