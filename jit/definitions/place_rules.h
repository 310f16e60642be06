// Where the elements of a result lie in its operands, of operators that copy them to other places: concatenation,
// padding, rolling, repetition, shuffles of channels, nearest neighbours, the halves of a gate. A fused kernel reads
// them there, as rules with the other rules (scalar_rules.h) ask for them, and the copy is not made. So does one of
// operators that make an element of several in a window: pooling, linear resampling.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "jit/definitions/scalar_rules.h"

namespace hearth {

// A node as these rules see it, in one place of its result. `i` numbers the dimensions that the rule moves.
class PlaceCall {
 public:
  PlaceCall(const Call& call, fuser::Dtype result, fuser::KernelBuilder& builder)
      : call_(call), result_(result), builder_(builder) {}

  const Call& call() const { return call_; }
  fuser::Dtype result() const { return result_; }
  fuser::Scalar Integer(int64_t value) const { return {builder_, builder_.Integer(value)}; }
  // None where the result's dtype does not hold it.
  fuser::Scalar Constant(double value) const;

  // The place along a dimension of the result, an i64.
  virtual fuser::Scalar Index(size_t i) = 0;
  // How many elements a tensor has along a dimension, an i64.
  virtual fuser::Scalar Size(size_t tensor, size_t i) = 0;
  // Of a tensor's element at these places along the dimensions, and at the result's along all others; 0 where a
  // condition is false. In the tensor's dtype.
  virtual fuser::Scalar At(size_t tensor, std::span<const fuser::Scalar> places) = 0;
  virtual fuser::Scalar AtIf(fuser::Scalar condition, size_t tensor, std::span<const fuser::Scalar> places) = 0;
  fuser::Scalar At(size_t tensor, std::initializer_list<fuser::Scalar> places) {
    return At(tensor, std::span(places.begin(), places.size()));
  }
  fuser::Scalar AtIf(fuser::Scalar condition, size_t tensor, std::initializer_list<fuser::Scalar> places) {
    return AtIf(condition, tensor, std::span(places.begin(), places.size()));
  }
  // Of a rule that joins tensors: in which of them all places of the loop lie, where that is known.
  virtual std::optional<size_t> part() const = 0;

 protected:
  ~PlaceCall() = default;

 private:
  const Call& call_;
  const fuser::Dtype result_;
  fuser::KernelBuilder& builder_;
};

struct PlaceRule {
  // The dimensions along which the place in a tensor is another one than in the result; the sizes of both along them
  // are constants. Null where a kernel cannot: an argument that is no constant.
  std::optional<std::vector<size_t>> (*dimensions)(const Call& call);
  // None where a kernel cannot.
  fuser::Scalar (*element)(PlaceCall& c);
  // The tensors lie one after the other along the one dimension.
  bool joins = false;
  // A kernel is worth it on a GPU even with nothing else in it, where LibTorch's are slow or several.
  bool alone_on_gpu = false;
  // On a CPU, LibTorch's own are as good.
  bool only_on_gpu = false;
  // How many of the first operands are tensors that it takes elements from; those of a list are all of them.
  size_t tensors = 1;
};

// The tensors that a node with such a rule takes elements from; none if its list is not made for it alone.
std::vector<const Value*> MovedTensors(const Node& node);

// Of a place from 0 on, which is below `bound`: how often it has `b` elements, and how many it has beside. Processors
// multiply vectors of 32 bits to that end.
fuser::Scalar QuotientOfPlace(fuser::Scalar place, int64_t bound, int64_t b, const PlaceCall& c);
fuser::Scalar RemainderOfPlace(fuser::Scalar place, int64_t bound, int64_t b, const PlaceCall& c);

// Along which dimension of tensors of `rank` an operator joins them; null: it is no constant, or the operator gives
// them other dimensions first.
std::optional<size_t> DimensionOfJoin(const Call& call, size_t rank);

// How many spatial dimensions an operator on images has, as its name says.
size_t SpatialRank(const Call& call);

// How many times as large a resampling operator of that many spatial dimensions is told to make one of them; null in
// it: it is not told; null: no constant.
std::optional<std::optional<double>> ResamplingFactor(const Call& call, size_t spatial, size_t i);

namespace place {

extern const PlaceRule kAveragePool;
extern const PlaceRule kConcatenate;
extern const PlaceRule kDifference;
extern const PlaceRule kFlip;
extern const PlaceRule kGated;
extern const PlaceRule kLinear;
extern const PlaceRule kLowerTriangle;
extern const PlaceRule kMaxPool;
extern const PlaceRule kNearest;
extern const PlaceRule kNearestExact;
extern const PlaceRule kPad;
extern const PlaceRule kRepeat;
extern const PlaceRule kRepeatElements;
extern const PlaceRule kRoll;
extern const PlaceRule kShuffleChannels;
extern const PlaceRule kShufflePixels;
extern const PlaceRule kSliceScatter;
extern const PlaceRule kUnshufflePixels;
extern const PlaceRule kUpperTriangle;

}  // namespace place
}  // namespace hearth
