#include "jit/definitions/operand_order.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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

// What TensorIterator does to find the nesting of new memory (its reorder_dimensions): it sorts the dimensions, from
// the last to the first, by insertion, asking the operands one after the other which of two dimensions is the outer
// one. One goes past those that no operand compares it with.
class DimensionSort {
 public:
  DimensionSort(SizeAlgebra& algebra, const Operands& operands, const KnownSizes& sizes)
      : algebra_(algebra), operands_(operands), sizes_(sizes) {}

  // Unknown where an answer is.
  StrideOrder Run() const {
    std::vector<size_t> inner_first(sizes_.size());
    for (size_t i = 0; i < inner_first.size(); ++i) inner_first[i] = inner_first.size() - 1 - i;
    for (size_t i = 1; i < inner_first.size(); ++i) {
      size_t moved = i;
      for (size_t at = i; at-- > 0;) {
        const Answer answer = Ask(inner_first[at], inner_first[moved]);
        if (answer == Answer::kUnknown) return {};
        if (answer == Answer::kSecondIsOuter) break;
        if (answer == Answer::kNothing) continue;
        std::swap(inner_first[at], inner_first[moved]);
        moved = at;
      }
    }
    std::vector<PartOrder::Level> levels;
    for (size_t i = inner_first.size(); i > 0; --i) levels.push_back({static_cast<uint8_t>(inner_first[i - 1])});
    return PartOrder::Of(levels, /*exact=*/true).Dense();
  }

 private:
  enum class Answer : uint8_t { kFirstIsOuter, kSecondIsOuter, kNothing, kUnknown };

  Answer Ask(size_t first, size_t second) const {
    for (const ValueFacts* operand : operands_) {
      if (const Answer answer = AskOne(*operand, first, second); answer != Answer::kNothing) return answer;
    }
    return Answer::kNothing;
  }

  // The dimensions in which an operand is expanded have a stride of 0, of which it says nothing.
  Answer AskOne(const ValueFacts& operand, size_t first, size_t second) const {
    if (!operand.sizes || operand.sizes->size() > sizes_.size()) return Answer::kUnknown;
    const size_t extra = sizes_.size() - operand.sizes->size();
    const std::optional<bool> expands_first = IsExpanded(operand, first), expands_second = IsExpanded(operand, second);
    if (expands_first == true || expands_second == true) return Answer::kNothing;
    const PartOrder nested = operand.nested();
    if (!expands_first || !expands_second || !operand.plain || !nested.is_known()) return Answer::kUnknown;
    const auto place = [&](size_t dimension) {
      return std::ranges::find(nested.levels(), dimension - extra, &PartOrder::Level::dimension);
    };
    const bool first_is_outer = place(first) < place(second);
    // The outer one's stride is longer for certain if the inner one has two elements. That of a dimension of one
    // element may be any, unless it is known exactly.
    const size_t outer = first_is_outer ? first : second, inner = first_is_outer ? second : first;
    const bool is_longer =
        algebra_.IsAtLeast(sizes_[inner], 2) && (nested.is_exact() || algebra_.IsAtLeast(sizes_[outer], 2));
    if (is_longer) return first_is_outer ? Answer::kFirstIsOuter : Answer::kSecondIsOuter;
    const auto behind_outer = std::min(place(first), place(second)) + 1;
    const auto behind_inner = std::max(place(first), place(second)) + 1;
    const bool are_equal = operand.order.is_exact() && AreOnes(operand, {behind_outer, behind_inner}, extra);
    if (!are_equal) return Answer::kUnknown;
    // Of equal strides the dimension with more elements is the outer one, which is asked of the first alone.
    if (!first_is_outer) return algebra_.IsAtLeast(sizes_[second], 1) ? Answer::kNothing : Answer::kUnknown;
    if (sizes_[first] == 1) return Answer::kNothing;
    return algebra_.IsAtLeast(sizes_[first], 2) ? Answer::kFirstIsOuter : Answer::kUnknown;
  }

  // Whether these dimensions of an operand have one element each, in the result, too.
  bool AreOnes(const ValueFacts& operand, std::span<const PartOrder::Level> levels, size_t extra) const {
    return std::ranges::all_of(levels, [&](const PartOrder::Level& level) {
      return (*operand.sizes)[level.dimension] == 1 && sizes_[level.dimension + extra] == 1;
    });
  }

  std::optional<bool> IsExpanded(const ValueFacts& operand, size_t dimension) const {
    const size_t extra = sizes_.size() - operand.sizes->size();
    if (dimension < extra) return true;
    const KnownSize own = (*operand.sizes)[dimension - extra], all = sizes_[dimension];
    if (own.is_known() && (own == all || (algebra_.IsAtLeast(own, 2) && algebra_.IsAtLeast(all, 2)))) return false;
    if (own == 1 && algebra_.IsAtLeast(all, 2)) return true;
    return {};
  }

  SizeAlgebra& algebra_;
  const Operands& operands_;
  const KnownSizes& sizes_;
};

}  // namespace

StrideOrder OrderOfAll(SizeAlgebra& algebra, Operands operands, const std::optional<KnownSizes>& sizes) {
  if (!sizes) return {};
  // A tensor without dimensions is a number.
  if (!sizes->empty()) std::erase_if(operands, [](const ValueFacts* one) { return one->rank() == 0u; });
  if (operands.size() == 1) {
    return OrderOfNewLike(algebra, *operands[0]);
  }
  // One of one dimension says of no two which is the outer one.
  Operands asked = operands;
  if (sizes->size() > 1) std::erase_if(asked, [](const ValueFacts* one) { return one->rank() == 1u; });
  if (asked.size() == 1 && HasAll(algebra, *asked[0], *sizes)) return OrderOfNewLike(algebra, *asked[0]);
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
  return DimensionSort(algebra, operands, *sizes).Run();
}

}  // namespace hearth
