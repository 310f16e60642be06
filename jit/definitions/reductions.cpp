// Reductions, scans and losses.
#include <algorithm>
#include <vector>

#include "jit/definitions/definition_lists.h"
#include "jit/definitions/operand_order.h"
#include "jit/definitions/place_rules.h"
#include "jit/definitions/pointwise_facts.h"
#include "jit/definitions/row_rules.h"
#include "jit/definitions/scalar_rules.h"
#include "jit/definitions/shared_rules.h"

namespace hearth {
namespace {

void Scan(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, call.in(0).sizes);
  if (call.in(0).contiguous()) call.GiveOrder(call.in(0).order);
  call.out().dtype = GivenDtype(call, Summed(call.in(0).dtype));
}

// What lies beside one another, subtracted; with more put before and behind, if that is given.
void Difference(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const auto dim = sizes ? Dimension(call.number("dim"), sizes->size()) : std::nullopt;
  if (!dim || sizes->empty() || !call.is_none("prepend") || !call.is_none("append")) {
    sizes = UnknownSizes(call.in(0).rank());
  } else {
    KnownSize& size = (*sizes)[*dim];
    const KnownSize less = call.sizes().Subtract(size, call.computed("n"));
    size = call.sizes().IsAtLeast(less, 0) ? less : KnownSize();
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
  if (call.in(0).default_strides()) call.GiveOrder(StrideOrder::Default(true));
}

std::optional<KnownSizes> Reduced(Call& call) {
  const std::optional<KnownSizes>& sizes = call.in(0).sizes;
  if (!sizes) return {};
  if (!call.has("dim")) return KnownSizes();
  const bool all = call.is_none("dim");
  const std::optional<bool> keep = call.has("keepdim") ? call.flag("keepdim") : std::optional(false);
  const std::optional<KnownSizes> dims = call.numbers("dim");
  if (!keep || (!all && !dims)) return {};
  std::vector<bool> reduced(sizes->size(), all || dims->empty());
  if (!all) {
    for (const KnownSize& dim : *dims) {
      const auto at = Dimension(dim.constant(), sizes->size());
      if (!at) return {};
      if (!sizes->empty()) reduced[*at] = true;
    }
  }
  KnownSizes rest;
  for (size_t i = 0; i < sizes->size(); ++i) {
    if (!reduced[i]) {
      rest.push_back((*sizes)[i]);
    } else if (*keep) {
      rest.push_back(1);
    }
  }
  return rest;
}
void Reduce(Call& call) { call.Give(0, call.in(0), GivenDtype(call, call.in(0).dtype), Reduced(call)); }
void ReduceInOrder(Call& call) {
  Reduce(call);
  call.GiveOrder(StrideOrder::Default(true));
}
void ReduceToSpread(Call& call) {
  ReduceInOrder(call);
  // Of complex numbers it is a real one.
  if (call.in(0).dtype && c10::isComplexType(*call.in(0).dtype)) call.out().dtype.reset();
}
void ReduceSummed(Call& call) {
  call.Give(0, call.in(0), GivenDtype(call, Summed(call.in(0).dtype)), Reduced(call));
  call.GiveOrder(StrideOrder::Default(true));
}
// Any and all.
void ReduceToBool(Call& call) {
  const bool bytes = call.in(0).dtype == c10::kByte;
  const std::optional<KnownSizes> dims = call.has("dim") ? call.numbers("dim") : std::nullopt;
  // These take no dimensions at their word: nothing is reduced.
  const bool none = dims && dims->empty();
  call.Give(0, call.in(0), bytes || !call.in(0).dtype ? Dtype() : c10::kBool, none ? call.in(0).sizes : Reduced(call));
  if (!none) call.GiveOrder(StrideOrder::Default(true));
}
void ReduceToIndex(Call& call) {
  call.Give(0, call.in(0), c10::kLong, Reduced(call));
  call.GiveOrder(StrideOrder::Default(true));
}
// max(x), max(x, other), max(x, dim)
void Extremum(Call& call) {
  if (call.num_inputs() == 2 && call.is_tensor_type(1)) return Binary(call);
  Reduce(call);
  if (call.num_outputs() == 2) call.Give(1, call.in(0), c10::kLong, call.out().sizes);
}

void ReduceTwice(Call& call) {
  ReduceToSpread(call);
  if (call.num_outputs() == 2) call.Give(1, call.in(0), call.in(0).dtype, call.out().sizes);
}
void ReduceFloating(Call& call) {
  ReduceInOrder(call);
  call.out().dtype = Floating(call.in(0).dtype);
}
// Of which nothing but the mean or sum is left, unless each element is asked for.
void Loss(Call& call) {
  const std::optional<int64_t> reduction = call.number("reduction");
  const bool reduces = reduction == 1 || reduction == 2;
  Dtype dtype = Same(call.in(0), call.in(1));
  if (dtype && c10::isComplexType(*dtype)) dtype.reset();
  call.Give(0, call.in(0), dtype, reduces ? std::optional(KnownSizes()) : std::nullopt);
}
// The same of a loss that is one operator on two tensors, where it is asked for each element.
void PairLoss(Call& call) {
  Loss(call);
  if (call.number("reduction") != 0) return;
  const std::optional<KnownSizes> sizes = Broadcast(call.sizes(), call.in(0).sizes, call.in(1).sizes);
  call.out().sizes = sizes;
  call.GiveOrder(OrderOfAll(call.sizes(), {&call.in(0), &call.in(1)}, sizes));
}
// Likewise of one that LibTorch makes of several operators, some on one of the tensors alone.
void ComposedLoss(Call& call) {
  PairLoss(call);
  const ValueFacts& a = call.in(0);
  const ValueFacts& b = call.in(1);
  const bool alike = a.sizes && a.sizes == b.sizes && a.contiguous() && b.contiguous();
  if (call.number("reduction") == 0 && !alike) call.out().order = {};
}

// Of three tensors, of which two are as the first.
void RankingLoss(Call& call) {
  Loss(call);
  if (call.number("reduction") != 0) return;
  const ValueFacts& a = call.in(0);
  const auto is_alike = [&](const ValueFacts& b) { return a.sizes == b.sizes && a.dtype == b.dtype && b.contiguous(); };
  if (!a.sizes || !a.contiguous() || !is_alike(call.in(1)) || !is_alike(call.in(2))) {
    call.out() = {};
    return;
  }
  call.out().sizes = a.sizes;
  call.GiveOrder(StrideOrder::Default(true));
}

// Of the same sizes, along a dimension: the last one, unless another is told.
void ReducePairs(Call& call) {
  const ValueFacts &a = call.in(0), &b = call.in(1);
  const Dtype dtype = Same(a, b);
  if (!dtype || !c10::isFloatingType(*dtype) || !a.sizes || a.sizes != b.sizes || a.sizes->empty()) return;
  const auto dimension = Dimension(call.has("dim") ? call.number("dim") : -1, a.sizes->size());
  const std::optional<bool> keep = call.has("keepdim") ? call.flag("keepdim") : std::optional(false);
  if (!dimension || !keep) return;
  KnownSizes sizes = *a.sizes;
  if (*keep) {
    sizes[*dimension] = 1;
  } else {
    sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(*dimension));
  }
  call.Give(0, a, dtype, std::move(sizes));
  call.GiveOrder(StrideOrder::Default(true));
}

void Distance(Call& call) {
  const Dtype dtype = Same(call.in(0), call.in(1));
  if (!dtype || !c10::isFloatingType(*dtype)) return;
  call.Give(0, call.in(0), dtype, KnownSizes());
  call.GiveOrder(StrideOrder::Default(true));
}

using enum OperatorClass;

const OperatorDefinition kDefinitions[] = {
    {.name = "aten::diff", .kind = kScan, .facts = Difference, .place = &place::kDifference},
    {.name = "aten::cumsum",
     .kind = kScan,
     .facts = Scan,
     .row = &row::kCumsum,
     .autocast = AutocastPolicy::kFullUnlessDtypeGiven},
    {.name = "aten::cumprod",
     .kind = kScan,
     .facts = Scan,
     .row = &row::kCumprod,
     .autocast = AutocastPolicy::kFullUnlessDtypeGiven},
    {.name = "aten::logcumsumexp", .kind = kScan, .facts = facts::Like, .row = &row::kLogCumsumExp},
    {.name = "aten::norm", .kind = kReduction, .facts = ReduceToSpread, .row = &row::kVectorNorm},
    {.name = "aten::linalg_vector_norm", .kind = kReduction, .facts = ReduceToSpread, .row = &row::kVectorNorm},
    {.name = "aten::logsumexp", .kind = kReduction, .facts = ReduceFloating, .row = &row::kLogSumExp},
    {.name = "aten::special_logsumexp", .kind = kReduction, .facts = ReduceFloating, .row = &row::kLogSumExp},
    {.name = "aten::linalg_norm", .kind = kReduction, .facts = ReduceToSpread, .row = &row::kMatrixOrVectorNorm},
    {.name = "aten::nansum", .kind = kReduction, .facts = ReduceSummed, .row = &row::kNanSum},
    {.name = "aten::nanmean", .kind = kReduction, .facts = ReduceInOrder, .row = &row::kNanMean},
    {.name = "aten::count_nonzero", .kind = kReduction, .facts = ReduceToIndex, .row = &row::kCountNonzero},
    {.name = "aten::pairwise_distance", .kind = kReduction, .facts = ReducePairs, .row = &row::kPairwiseDistance},
    {.name = "aten::linalg_vecdot", .kind = kReduction, .facts = ReducePairs, .row = &row::kVectorDot},
    {.name = "aten::var_mean", .kind = kReduction, .facts = ReduceTwice},
    {.name = "aten::std_mean", .kind = kReduction, .facts = ReduceTwice},
    {.name = "aten::cross_entropy_loss", .kind = kReduction, .facts = Loss},
    {.name = "aten::mean", .kind = kReduction, .facts = ReduceInOrder, .row = &row::kMean},
    {.name = "aten::amax", .kind = kReduction, .facts = ReduceInOrder, .row = &row::kAmax},
    {.name = "aten::amin", .kind = kReduction, .facts = ReduceInOrder, .row = &row::kAmin},
    {.name = "aten::var", .kind = kReduction, .facts = ReduceToSpread, .row = &row::kVar},
    {.name = "aten::std", .kind = kReduction, .facts = ReduceToSpread, .row = &row::kStd},
    {.name = "aten::sum",
     .kind = kReduction,
     .facts = ReduceSummed,
     .row = &row::kSum,
     .number = number::Sum,
     .autocast = AutocastPolicy::kFullUnlessDtypeGiven},
    {.name = "aten::prod",
     .kind = kReduction,
     .facts = ReduceSummed,
     .row = &row::kProd,
     .autocast = AutocastPolicy::kFullUnlessDtypeGiven},
    {.name = "aten::any", .kind = kReduction, .facts = ReduceToBool, .row = &row::kAny},
    {.name = "aten::all", .kind = kReduction, .facts = ReduceToBool, .row = &row::kAll},
    {.name = "aten::argmax", .kind = kReduction, .facts = ReduceToIndex, .row = &row::kArgmax},
    {.name = "aten::argmin", .kind = kReduction, .facts = ReduceToIndex, .row = &row::kArgmin},
    {.name = "aten::max", .kind = kReduction, .facts = Extremum, .scalar = scalar::Maximum},
    {.name = "aten::min", .kind = kReduction, .facts = Extremum, .scalar = scalar::Minimum},
    {.name = "aten::renorm", .autocast = AutocastPolicy::kFull},
    {.name = "aten::cross", .autocast = AutocastPolicy::kWidest},
    {.name = "aten::sum_to_size", .kind = kReduction, .hides_aliases = true},
    {.name = "aten::frobenius_norm",
     .kind = kReduction,
     .facts = ReduceToSpread,
     .row = &row::kVectorNorm,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::nuclear_norm", .kind = kReduction, .autocast = AutocastPolicy::kFull},
    {.name = "aten::cosine_similarity",
     .kind = kReduction,
     .facts = ReducePairs,
     .row = &row::kCosineSimilarity,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::cosine_embedding_loss", .kind = kReduction, .autocast = AutocastPolicy::kFull},
    {.name = "aten::nll_loss", .kind = kReduction, .autocast = AutocastPolicy::kFull},
    {.name = "aten::nll_loss2d", .kind = kReduction, .autocast = AutocastPolicy::kFull},
    {.name = "aten::hinge_embedding_loss",
     .kind = kReduction,
     .facts = ComposedLoss,
     .scalar = scalar::HingeEmbeddingLoss,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::kl_div",
     .kind = kReduction,
     .facts = ComposedLoss,
     .scalar = scalar::KlDivergence,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::l1_loss",
     .kind = kReduction,
     .facts = PairLoss,
     .scalar = scalar::L1Loss,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::smooth_l1_loss",
     .kind = kReduction,
     .facts = PairLoss,
     .scalar = scalar::SmoothL1Loss,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::mse_loss",
     .kind = kReduction,
     .facts = PairLoss,
     .scalar = scalar::MseLoss,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::margin_ranking_loss",
     .kind = kReduction,
     .facts = RankingLoss,
     .scalar = scalar::MarginRankingLoss,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::poisson_nll_loss", .kind = kReduction, .facts = ComposedLoss, .scalar = scalar::PoissonNllLoss},
    {.name = "aten::multilabel_margin_loss", .kind = kReduction, .autocast = AutocastPolicy::kFull},
    {.name = "aten::soft_margin_loss",
     .kind = kReduction,
     .facts = ComposedLoss,
     .scalar = scalar::SoftMarginLoss,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::triplet_margin_loss", .kind = kReduction, .autocast = AutocastPolicy::kFull},
    {.name = "aten::multi_margin_loss", .kind = kReduction, .autocast = AutocastPolicy::kFull},
    {.name = "aten::binary_cross_entropy_with_logits",
     .kind = kReduction,
     .facts = ComposedLoss,
     .scalar = scalar::BinaryCrossEntropyWithLogits,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::huber_loss", .kind = kReduction, .facts = PairLoss, .scalar = scalar::HuberLoss},
    {.name = "aten::dist",
     .kind = kReduction,
     .facts = Distance,
     .row = &row::kDistance,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::pdist", .kind = kReduction, .autocast = AutocastPolicy::kFull},
    {.name = "aten::cdist", .kind = kReduction, .autocast = AutocastPolicy::kFull},
    {.name = "aten::equal", .kind = kReduction, .autocast = AutocastPolicy::kWidest},
};

}  // namespace

std::span<const OperatorDefinition> ReductionDefinitions() { return kDefinitions; }

}  // namespace hearth
