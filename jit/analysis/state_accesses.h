// Which parts of a model's state its methods read and write, and where in their graphs.
//
// State is what one run leaves for the next. Its parts are
//   - attributes of objects that are known by identity, each one by itself: what it is bound to;
//   - memory that more than one run can reach and that some node writes in place (a buffer's statistics, a list that is
//     appended to), as classes of a partition over all methods together: views and tensors that share storage, what a
//     container holds, and values that any method ever puts into the same attribute are one part.
// Only parts that some method writes are parts; everything else may be read at any time. One part more is the process's
// random generators: who draws reads them, who seeds them writes them.
//
// An object that is used in any other way than by its attributes' names (handed to a call that was not inlined, held in
// a container, chosen by a branch) is one part with all that it reaches.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "jit/ir/graph.h"

namespace hearth {

class UnitEffects;

inline constexpr size_t kGenerators = 0;  // the part that all models of the process share

// A set of parts, by their numbers; iterates over them from the lowest on.
class StateParts {
 public:
  class Iterator;
  Iterator begin() const;
  std::default_sentinel_t end() const { return {}; }

  void Add(size_t part);
  void Add(const StateParts& other);
  bool Has(size_t part) const;
  bool Meets(const StateParts& other) const;
  bool empty() const { return words_.empty(); }
  bool operator==(const StateParts&) const = default;

 private:
  // The first part from `part` on; kEnd if there is none.
  size_t NextFrom(size_t part) const;

  static constexpr size_t kEnd = std::numeric_limits<size_t>::max();
  std::vector<uint64_t> words_;  // without zeros at the end
};

class StateParts::Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = size_t;

  explicit Iterator(const StateParts& parts) : parts_(&parts), part_(parts.NextFrom(0)) {}
  size_t operator*() const { return part_; }
  Iterator& operator++() {
    part_ = parts_->NextFrom(part_ + 1);
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return part_ == kEnd; }

 private:
  const StateParts* parts_;
  size_t part_;
};

inline StateParts::Iterator StateParts::begin() const { return Iterator(*this); }

struct StateAccess {
  StateParts reads;
  StateParts writes;
  void Add(const StateAccess& other);
  bool empty() const { return reads.empty() && writes.empty(); }
  // What is read or written.
  StateParts Touched() const;
  // Whether the two must not happen at once.
  bool Conflicts(const StateAccess& other) const {
    return writes.Meets(other.writes) || writes.Meets(other.reads) || reads.Meets(other.writes);
  }
};

// What a run of one graph does to the state.
struct MethodState {
  struct Touch {
    const Node* node;  // of the graph's top block, with all that is nested in it
    StateAccess access;
  };
  std::vector<Touch> touches;  // in program order; nodes that touch nothing are not here
  // Of `touches`, what stays in use after the node, to the end of the run and of its forks: a fork's own accesses, the
  // memory of what the run returns.
  StateAccess to_the_end;

  StateAccess All() const;
};

// An attribute of an object.
using StateSlot = std::pair<const c10::ivalue::Object*, size_t>;
// Of a GetAttr or SetAttr on `object`.
StateSlot SlotOf(const Node& attribute, const c10::ivalue::Object& object);

// Used by one thread while an archive loads. Refers to graphs and objects, which must not change while it is in use.
class StateAccesses {
 public:
  // `graphs` are all that runs of the model start with (methods and hooks), each with its first input bound to `self`.
  StateAccesses(std::span<const Graph* const> graphs, const c10::ivalue::Object& self, const UnitEffects& effects);
  ~StateAccesses();

  // In the order of the graphs.
  const std::vector<MethodState>& methods() const { return methods_; }
  // Whether the object is used only by its attributes' names, so that every access to its attributes is in sight.
  bool IsInSight(const c10::ivalue::Object& object) const;

 private:
  class Builder;
  std::vector<MethodState> methods_;
  std::unique_ptr<Builder> builder_;
};

}  // namespace hearth
