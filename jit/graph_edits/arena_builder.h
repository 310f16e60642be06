// Writes a plan's prim::Arena: which numbers of a run's arguments its places depend on, how their sizes are computed of
// those, and which place lies over which. Helper of plan_memory.
//
// What can decide is known at entry: a size of an argument, or of a tensor in a tuple or list that is one, and an int.
// Sizes that are polynomials over such numbers, quotients and remainders included (definitions/size_algebra.h), can be
// computed; a size that a run only learns on its way cannot.
//
//     %rows : int = aten::size.int(%x, %0)
//     prim::Arena[bytes=4096](%rows)
//       block0(%rows.1 : int):
//         %wide : int = aten::mul.int(%rows.1, %4)
//         %sizes : List[int] = prim::ListConstruct(%wide, %16)
//         %a : Tensor = prim::Place(%sizes, %float)
//         %b : Tensor = prim::Place(%sizes, %float, %a)
//         -> (%a, %b)
#pragma once

#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/definitions/value_facts.h"
#include "jit/ir/graph.h"

namespace hearth {

// Used by one thread; refers to the graph and its facts, which have been inferred before anything is asked.
class ArenaBuilder {
 public:
  ArenaBuilder(Graph& graph, ValueFactTable& facts) : graph_(graph), facts_(facts) {}

  // Whether all of them can be computed at entry.
  bool CanCompute(const KnownSizes& sizes);
  // Of a tensor of sizes that can be computed, as they may well be; 0 if it is empty, or if nothing is
  // known of them.
  size_t LikelyBytes(const KnownSizes& sizes, c10::ScalarType dtype);

  struct Place {
    KnownSizes sizes;
    c10::ScalarType dtype;
    std::vector<size_t> over;  // by their numbers
    auto operator<=>(const Place&) const = default;
  };
  // Places are numbered as they are added.
  void Add(const Place& place) { places_.push_back(place); }
  // Once, at last: puts the node where the graph begins.
  void Finish(size_t likely_bytes);

 private:
  // Where an atom is found: an input, elements of tuples and lists, and of a tensor the dimension.
  struct Origin {
    Value* input;
    std::vector<size_t> elements;
    std::optional<size_t> dimension;
  };

  void FindOrigins();
  void AddOrigins(const ValueFacts& facts, Origin origin);
  bool CanCompute(KnownSize size);
  bool CanComputeAtom(size_t atom);
  void AddAtoms(KnownSize size, std::set<size_t>* atoms);
  Value* Read(const Origin& origin);
  Value* ReadFrom(Value* whole, size_t part, c10::TypePtr type);
  Value* Compute(KnownSize size);
  Value* ComputeAll(const KnownSizes& sizes);
  Value* ComputeAtom(size_t atom);
  Value* Insert(const char* op, const char* overload, std::initializer_list<Value*> inputs, c10::TypePtr type);

  Graph& graph_;
  ValueFactTable& facts_;
  bool found_origins_ = false;
  std::map<size_t, Origin> origins_;  // by atom
  std::set<size_t> numbers_;          // the atoms on which sizes may depend
  std::vector<Place> places_;
  // Before the Arena.
  std::map<std::pair<Value*, size_t>, Value*> read_;
  std::map<size_t, Value*> indices_;
  // In the Arena's block.
  std::map<size_t, Value*> atoms_;
  std::map<KnownSize, Value*> computed_;
  std::map<KnownSizes, Value*> lists_;
};

}  // namespace hearth
