// How a Value of a graph depends on the rows of a batch: what a run of several requests' rows, put together along
// dimension 0 of each argument's tensors, has in it, compared with the runs of each request's rows alone.
// analysis/batch_axes.h finds it in a graph, by the rules of batch_rules.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/definitions/size_algebra.h"
#include "jit/ir/graph.h"

namespace hearth {

struct BatchState {
  enum class Kind : uint8_t {
    kNever,       // None, or what no run comes to have: whatever is said of it holds
    kUniform,     // the same in all of these runs, its sizes too
    kRows,        // a tensor: what runs of the rows alone have, beside each other along one axis
    kRowNumbers,  // a tensor: 0, 1, 2, ..., as many as there are rows, along one axis; other sizes are 1
    kCount,       // no tensor: depends on how many rows there are, and on nothing in them
    kContainer,   // a list, tuple or dict whose elements are known one by one
    kMixed,       // what a row of it is depends on other rows: a run of several has something else in it
    kUnknown,
  };

  Kind kind = Kind::kUnknown;
  size_t axis = 0;            // kRows, kRowNumbers
  KnownSize per_row = {};     // kRows: elements along the axis that a row has beside each other; may be unknown
  KnownSize outer = 1;        // kRows: and how many times all rows are there, one time behind the other along the axis
  bool of_inputs = false;     // kRows: what is in the rows comes of the arguments', and is not the same in all rows
  const Node* why = nullptr;  // kCount, kMixed, kUnknown: the node that made it so; may be null
  std::string_view reason = {};           // of it, a literal: what it does
  std::vector<BatchState> elements = {};  // kContainer; of a dict its values

  static BatchState Never() { return {.kind = Kind::kNever}; }
  static BatchState Uniform() { return {.kind = Kind::kUniform}; }
  static BatchState Rows(size_t axis, KnownSize per_row, bool of_inputs, KnownSize outer = 1) {
    return {.kind = Kind::kRows, .axis = axis, .per_row = per_row, .outer = outer, .of_inputs = of_inputs};
  }
  static BatchState Because(Kind kind, const Node* why, std::string_view reason) {
    return {.kind = kind, .why = why, .reason = reason};
  }

  bool is_rows() const { return kind == Kind::kRows; }
  bool is_uniform() const { return kind == Kind::kUniform || kind == Kind::kNever; }
  bool operator==(const BatchState&) const = default;
};

// What holds of both: of a value that is one or the other, the same one in all runs.
BatchState Join(const BatchState& a, const BatchState& b);

// Of everything in a container together; of another value its own.
BatchState JoinOfElements(const BatchState& state);

// Which sizes and numbers depend on how many rows there are. Used by one thread.
class BatchSizes {
 public:
  // `algebra` outlives it. `rows` is an atom: how many rows there are.
  BatchSizes(SizeAlgebra& algebra, KnownSize rows) : algebra_(algebra), rows_(rows) {}

  KnownSize rows() const { return rows_; }
  SizeAlgebra& algebra() { return algebra_; }

  // `atom`, if it is one that nothing is known of, is the same in all runs; or is `means`.
  void SetUniform(KnownSize atom);
  void SetMeaning(KnownSize atom, KnownSize means);
  // The size by what its atoms mean.
  KnownSize Normal(KnownSize size);

  // Whether it is known and the same in all runs.
  bool IsUniform(KnownSize size) { return Check(Normal(size), false); }
  // The same, or depends on the number of rows alone.
  bool IsOfRows(KnownSize size) { return Check(Normal(size), true); }
  // What it is for each row: the size is the number of rows times that, which is the same in all runs. Unknown if it is
  // not known to be so.
  KnownSize PerRow(KnownSize size);

  // What was said of atoms until now, to go back to.
  struct Known {
    std::set<size_t> uniform;
    std::map<size_t, KnownSize> meanings;
  };
  const Known& known() const { return known_; }
  void Restore(Known known) { known_ = std::move(known); }

 private:
  // The atom that it is; null if it is more than one atom.
  std::optional<size_t> AtomOf(KnownSize size) const;
  bool Check(KnownSize size, bool rows_too) const;
  void Collect(KnownSize size, std::set<size_t>* atoms) const;

  SizeAlgebra& algebra_;
  const KnownSize rows_;
  Known known_;
};

}  // namespace hearth
