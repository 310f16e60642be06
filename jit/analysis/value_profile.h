// What a method's values turned out to be in a sample of its runs: scalars and strings that are always the same (which
// way a branch goes, how often a loop goes round), what is None, dtype, device, rank and sizes of tensors, lengths of
// lists.
//
// Values are known by their number in the baseline graph (ValuesInOrder), which is the same whenever the archive is
// loaded. A run fills RunSamples of its own; a ValueProfile joins those of many runs and is handed on as a copy that
// nobody changes. Both are used by one thread at a time.
//
// Which sizes are always equal to each other is told by their symbols: sums over all runs of numbers drawn from (run,
// size). Sizes that once differed have different sums, but for one chance in 2^64.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "jit/definitions/value_facts.h"
#include "jit/ir/graph.h"

namespace hearth {

// All Values of a graph, blocks' parameters and nodes' outputs, in the order of the program. A copy of the graph has
// its Values in the same order.
std::vector<Value*> ValuesInOrder(const Graph& graph);

// Of the kinds of all nodes and values: the numbers of one graph mean nothing in another. The same in each process.
uint64_t FingerprintOf(const Graph& graph);

// Whether Values of that type are of one type in one run and of another in the next.
bool MayBeSeveral(const c10::Type& type);

// A Value that is worth looking at.
struct ProfileSite {
  size_t number;  // in ValuesInOrder
  const Value* value;
};

// Of a baseline graph: the conditions of branches, how often loops go round, numbers and strings that callers give,
// lengths that are asked for, what may be None, tensors of which no rule tells more; nothing in closures, nor in loops
// that never touch a tensor, where looking would take longer than what is looked at. Beside closures only what has no
// memory, which they could write meanwhile.
std::vector<ProfileSite> FindProfileSites(const Graph& baseline);

// Added to a Value's number: of what is speculated of its sizes alone, which may turn out wrong where the rest
// holds.
constexpr size_t kSizesOf = size_t{1} << 32;

// What one Value was.
struct ValueObservation {
  uint32_t runs = 0;   // that came by
  uint64_t times = 0;  // that they did
  bool none = false;   // it was, at least once
  bool some = false;   // it was something else
  // Of numbers and short strings: what it always was. Null: not always the same, or something else.
  std::optional<c10::IValue> constant;
  // Of tensors: what they have in common.
  ValueFacts facts = Never();
  // Of a tensor, while its rank is always the same.
  struct Dimension {
    // Always a multiple of 8: for code that loads so many elements at a time. None that is made on the CPU asks yet.
    bool by_eight = true;
    uint64_t symbol = 0;  // the same as that of a dimension that always had the same size
    bool operator==(const Dimension&) const = default;
  };
  std::vector<Dimension> dimensions;

  // `run`: a number that tells runs apart.
  void Add(const c10::IValue& value, uint64_t run);
  void Join(const ValueObservation& other);

 private:
  void AddFacts(const c10::IValue& value);
  void AddDimensions(const c10::IValue& value, uint64_t occasion, bool first);
  static ValueFacts Never() {
    ValueFacts never;
    never.kind = ValueFacts::Kind::kNever;
    return never;
  }
};

// Of one run.
class RunSamples {
 public:
  RunSamples(size_t sites, uint64_t run) : run_(run), sites_(sites) {}

  void Add(size_t site, const c10::IValue& value) {
    ValueObservation& seen = sites_[site];
    if (seen.times < kMaxTimes) seen.Add(value, run_);
  }
  const std::vector<ValueObservation>& sites() const { return sites_; }
  // As if made anew.
  void Reset(uint64_t run) {
    run_ = run;
    for (ValueObservation& site : sites_) {
      if (site.times > 0) site = {};
    }
  }

 private:
  static constexpr uint64_t kMaxTimes = 64;  // of a Value in a run: a loop's later rounds are not looked at
  uint64_t run_;
  std::vector<ValueObservation> sites_;
};

// Of many runs.
struct ValueProfile {
  uint32_t runs = 0;
  std::map<size_t, ValueObservation> values;  // by the Value's number

  void Join(const RunSamples& samples, std::span<const ProfileSite> sites);
};

}  // namespace hearth
