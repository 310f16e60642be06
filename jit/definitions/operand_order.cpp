#include "jit/definitions/operand_order.h"

#include <algorithm>
#include <span>

#include "jit/definitions/fact_rules.h"

namespace hearth {
namespace {

// Whether a tensor is expanded in no dimension of the result. Of two sizes that are both more than 1, a run in which
// they differ raises.
bool HasAll(SizeAlgebra& algebra, const ValueFacts& operand, const KnownSizes& sizes) {
  return operand.sizes && std::ranges::equal(*operand.sizes, sizes, [&](KnownSize size, KnownSize result) {
           return size.is_known() && (size == result || (algebra.IsAtLeast(size, 2) && algebra.IsAtLeast(result, 2)));
         });
}

// The order of what tensors of default order give: new memory in the order in which the dimensions are nested in them,
// which a dimension of size 1, whose stride may be any, can disturb.
StrideOrder OrderOfDefaultOnes(SizeAlgebra& algebra, const Operands& operands, const KnownSizes& sizes) {
  const auto all_at_least = [&](int64_t least) {
    return std::ranges::all_of(sizes, [&](KnownSize size) { return algebra.IsAtLeast(size, least); });
  };
  // Each operand has its dimensions in order then, but for those that it is expanded in, which are not asked.
  const bool no_ones = all_at_least(2);
  const bool alike = std::ranges::all_of(sizes, &KnownSize::is_known) &&
                     std::ranges::all_of(operands, [&](const ValueFacts* one) { return one->sizes == sizes; });
  // Nor does any stride of new memory say otherwise.
  const bool exact = std::ranges::all_of(operands, [](const ValueFacts* one) { return one->nested().is_exact(); });
  if (no_ones || alike || (exact && all_at_least(1))) return StrideOrder::Default(exact || no_ones);
  // One that is expanded in no dimension tells which of two is the outer one, where those before it do not.
  const bool has_whole =
      std::ranges::any_of(operands, [&](const ValueFacts* one) { return HasAll(algebra, *one, sizes); });
  return has_whole ? StrideOrder::Default(false) : StrideOrder();
}

// Whether the dimensions of a tensor that is broadcast to `sizes` are nested as `nesting` says, but for those that it
// is expanded in.
bool IsNestedAs(SizeAlgebra& algebra, const ValueFacts& part, const KnownSizes& sizes,
                const std::vector<size_t>& nesting) {
  if (!part.sizes || part.sizes->size() > sizes.size()) return false;
  const size_t extra = sizes.size() - part.sizes->size();
  const auto is_expanded = [&](size_t dim) {
    return dim < extra || ((*part.sizes)[dim - extra] == 1 && algebra.IsAtLeast(sizes[dim], 2));
  };
  std::vector<size_t> along = nesting;
  std::erase_if(along, is_expanded);
  if (along.size() <= 1) return true;
  const PartOrder nested = part.nested();
  if (!part.plain || !nested.is_known()) return false;
  std::vector<size_t> own;
  for (const PartOrder::Level& level : nested.levels()) own.push_back(level.dimension + extra);
  std::erase_if(own, is_expanded);
  return own == along;
}

}  // namespace

StrideOrder OrderOfAll(SizeAlgebra& algebra, Operands operands, const std::optional<KnownSizes>& sizes) {
  if (!sizes) return {};
  // A tensor without dimensions is a number.
  if (!sizes->empty()) std::erase_if(operands, [](const ValueFacts* one) { return one->rank() == 0u; });
  if (operands.size() == 1) {
    return OrderOfNewLike(algebra, *operands[0]);
  }
  if (std::ranges::all_of(operands, [](const ValueFacts* one) { return one->nested().is_default(); })) {
    if (const StrideOrder order = OrderOfDefaultOnes(algebra, operands, *sizes); order.is_known()) return order;
  }
  const auto has_all = [&](const ValueFacts* one) { return HasAll(algebra, *one, *sizes); };
  const PartOrder first = operands.front()->nested();
  const auto is_like_first = [&](const ValueFacts* one) { return has_all(one) && one->nested().IsNestedLike(first); };
  if (std::ranges::all_of(operands, is_like_first)) {
    const bool rest_exact = std::all_of(operands.begin() + 1, operands.end(),
                                        [](const ValueFacts* one) { return one->nested().is_exact(); });
    return rest_exact ? OrderOfNewLike(algebra, *operands.front()) : first.Dense().Inexact();
  }
  if (has_all(operands.front())) {
    return OrderOfNew(algebra, *sizes, first);
  }
  const auto whole = std::ranges::find_if(operands, has_all);
  if (whole == operands.end() || !(*whole)->nested().is_known()) return {};
  // Those before it decide where they have two dimensions, and the strides of a dimension of size 1 count too.
  const StrideOrder order = OrderOfNew(algebra, *sizes, (*whole)->nested());
  const std::vector<size_t> nesting = order.Nesting(sizes->size());
  const std::span<const ValueFacts* const> deciding(operands.begin(), whole + 1);
  const bool nested =
      std::ranges::all_of(deciding, [&](const ValueFacts* one) { return IsNestedAs(algebra, *one, *sizes, nesting); });
  const bool exact = std::ranges::all_of(deciding, [](const ValueFacts* one) { return one->nested().is_exact(); });
  const bool no_ones = std::ranges::all_of(*sizes, [&](KnownSize size) { return algebra.IsAtLeast(size, 2); });
  if (!nested || !(exact || no_ones)) return {};
  return exact ? order : order.Inexact();
}

}  // namespace hearth
