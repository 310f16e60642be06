// What the elements of a result are computed of that each depend on a whole row of the operand: softmax, the
// normalizations, reductions. A row is all elements along some of the dimensions. Fused kernels are made of these rules
// as of the scalar ones (scalar_rules.h); here a rule first goes over the row, as often as it needs, and then gives an
// element. A reduction has one for each row.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "jit/definitions/scalar_rules.h"

namespace hearth {

// A node as these rules see it. Within a loop over the row, In gives elements at the place where the loop is.
class RowCall : public ScalarCall {
 public:
  using Element = std::function<fuser::Scalar()>;

  // Goes over the row and reduces what `element` gives in each place.
  virtual fuser::Scalar Reduce(fuser::Reduction reduction, const Element& element) = 0;
  // In a loop over the row: keeps the value in this place for later loops, and gives it.
  virtual fuser::Scalar Keep(fuser::Scalar value) = 0;
  // What was kept in this place. One value a place.
  virtual fuser::Scalar Kept() = 0;
  // Goes over the row in its order: `next` gives of what is carried to a place what is carried on, of the same dtype,
  // and what is carried on is kept there, in the dtype that is computed in. `initial` is carried to the first one.
  using Step = std::function<fuser::Scalar(fuser::Scalar carried)>;
  virtual void Scan(fuser::Scalar initial, const Step& next) = 0;
  // How many elements a row has, as a number of the dtype that is computed in.
  virtual fuser::Scalar Count() = 0;

 protected:
  using ScalarCall::ScalarCall;
  ~RowCall() = default;
};

// Longer rows are better split among threads, LibTorch adds them up more exactly, and what is kept of them would not
// stay in a cache. Of reductions and scans.
inline constexpr int64_t kLongestReducedRow = 16384;

struct RowRule {
  // Along which a row lies; null where a kernel cannot: an argument that is no constant.
  std::optional<std::vector<size_t>> (*dimensions)(const Call& call);
  // Outside of any loop over the row: what the elements need of it; of a reduction, its result. Nothing where a kernel
  // cannot.
  std::vector<fuser::Scalar> (*reduce)(RowCall& c);
  // In a loop over the row; `reduced` is what `reduce` gave. Null of a reduction.
  fuser::Scalar (*element)(RowCall& c, std::span<const fuser::Scalar> reduced);

  bool IsReduction() const { return element == nullptr; }
};

namespace row {

extern const RowRule kAll;
extern const RowRule kAmax;
extern const RowRule kAmin;
extern const RowRule kAny;
extern const RowRule kArgmax;
extern const RowRule kArgmin;
extern const RowRule kCosineSimilarity;
extern const RowRule kCountNonzero;
extern const RowRule kCumprod;
extern const RowRule kCumsum;
extern const RowRule kDistance;
extern const RowRule kLayerNorm;
extern const RowRule kLogCumsumExp;
extern const RowRule kLogSoftmax;
extern const RowRule kLogSumExp;
extern const RowRule kMatrixOrVectorNorm;
extern const RowRule kMean;
extern const RowRule kNanMean;
extern const RowRule kNanSum;
extern const RowRule kPairwiseDistance;
extern const RowRule kProd;
extern const RowRule kRmsNorm;
extern const RowRule kSoftmax;
extern const RowRule kStd;
extern const RowRule kSum;
extern const RowRule kVar;
extern const RowRule kVectorDot;
extern const RowRule kVectorNorm;

}  // namespace row
}  // namespace hearth
