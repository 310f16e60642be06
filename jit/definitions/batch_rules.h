// What operators do to the rows of a batch (batch_state.h). A rule says it of one operator's outputs, from what is
// known of its inputs: that rows stay apart, along which axis; that they mix; or that it cannot tell.
//
// The rules assume that runs of a batch are compared which do not raise (what raises is run row by row), and that no
// request has tensors without elements. They are for operators that write nothing and draw no random numbers.
//
// The table is apart from that of definitions (definition.h), which compilations read: these are for archives that
// load. An operator without a rule of its own has that of its class.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "jit/definitions/batch_state.h"
#include "jit/definitions/fact_rules.h"

namespace hearth {

// A node as a rule sees it.
class BatchCall {
 public:
  using StateOf = std::function<const BatchState&(const Value&)>;

  // `facts` are of the node, its outputs' filled in.
  BatchCall(Call& facts, const StateOf& state_of, BatchSizes& sizes, std::span<BatchState> outputs)
      : facts(facts), sizes(sizes), state_of_(state_of), outputs_(outputs) {}

  Call& facts;
  BatchSizes& sizes;

  const BatchState& in(size_t i) const { return state_of_(*facts.node().input(i)); }
  BatchState& out(size_t i = 0) { return outputs_[i]; }
  std::span<BatchState> outputs() { return outputs_; }
  std::optional<size_t> rank(size_t i) const { return facts.in(i).rank(); }
  // What is known of a size of an input's tensor, or of an output's.
  KnownSize size(size_t i, size_t dim) { return sizes.Normal((*facts.in(i).sizes)[dim]); }
  KnownSizes SizesOf(const ValueFacts& facts_of_tensor);

  // ---- What becomes of all outputs ----
  void Give(const BatchState& state);
  // Rows of the same kind as `like`, along another axis.
  void GiveRows(const BatchState& like, size_t axis);
  // `reason` is a literal that goes on after the operator's name. Mixed where `of` depends on the arguments, else not
  // known.
  void Mix(const BatchState& of, std::string_view reason);
  void MixSurely(std::string_view reason);
  void Unclear(std::string_view reason);

  // Settles what comes of inputs that mix rows, or of which too little is known: false then. Otherwise all of these
  // inputs, and what is in them, are the same in all runs, or rows, or None.
  bool AllClear(std::initializer_list<size_t> inputs);
  bool AllClear();
  // Of those that say sizes and may depend on the number of rows.
  bool AreSizes(std::initializer_list<size_t> inputs);
  bool AllUniform() const;

 private:
  bool Clear(const BatchState& state, bool counts_too);

  const StateOf& state_of_;
  const std::span<BatchState> outputs_;
};

using BatchRule = void (*)(BatchCall&);

// Of a registered operator, by its name or its class; null: nothing is known but that it computes the same from the
// same.
BatchRule FindBatchRule(c10::Symbol symbol);

// Of tensors that are broadcast.
struct BatchOperand {
  const BatchState* state;
  const ValueFacts* facts;
};
// What is computed element by element of such tensors, with `dimensions` (null: as many as the largest of them has), of
// which the last `kept` must not be the rows' axis.
void GiveBroadcast(BatchCall& call, std::span<const BatchOperand> operands, size_t kept = 0);

// The rules, by file.
namespace batch {

// batch_rules.cpp
void Pointwise(BatchCall& call);
void Like(BatchCall& call);
void Overwritten(BatchCall& call);
void Reduction(BatchCall& call);
void CosineSimilarity(BatchCall& call);
void NotFollowed(BatchCall& call);
void Scan(BatchCall& call);
void Sorted(BatchCall& call);
void Loss(BatchCall& call);
void Created(BatchCall& call);
void CreatedLike(BatchCall& call);
void RowNumbers(BatchCall& call);
void Query(BatchCall& call);
void Scalar(BatchCall& call);
void Length(BatchCall& call);
void Element(BatchCall& call);

// batch_rules_layers.cpp
void Softmax(BatchCall& call);
void LayerNorm(BatchCall& call);
void GroupNorm(BatchCall& call);
void BatchNorm(BatchCall& call);
void Linear(BatchCall& call);
void Matmul(BatchCall& call);
void AddedMatmul(BatchCall& call);
void Outer(BatchCall& call);
void Einsum(BatchCall& call);
void Convolution(BatchCall& call);
void Images(BatchCall& call);
void Pad(BatchCall& call);
void Attention(BatchCall& call);
void EncoderLayer(BatchCall& call);
void Recurrence(BatchCall& call);
void Cell(BatchCall& call);
void Embedding(BatchCall& call);
void Prelu(BatchCall& call);

// batch_rules_views.cpp
void Reshape(BatchCall& call);
void Unsqueeze(BatchCall& call);
void Squeeze(BatchCall& call);
void Transpose(BatchCall& call);
void TransposeMatrix(BatchCall& call);
void Permute(BatchCall& call);
void Expand(BatchCall& call);
void Repeat(BatchCall& call);
void RepeatElements(BatchCall& call);
void Select(BatchCall& call);
void Slice(BatchCall& call);
void Parts(BatchCall& call);
void AlongOther(BatchCall& call);
void Reordered(BatchCall& call);
void Triangle(BatchCall& call);
void Join(BatchCall& call);
void Stack(BatchCall& call);
void Index(BatchCall& call);
void Gather(BatchCall& call);
void Put(BatchCall& call);
void OneHot(BatchCall& call);

}  // namespace batch
}  // namespace hearth
