#include "jit/definitions/fact_rules.h"

#include <algorithm>
#include <vector>

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

// In memory as the input is, if that has the default order.
void Like(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, call.in(0).sizes);
  if (call.in(0).contiguous()) call.GiveOrder(call.in(0).order);
}
// The same of any order: new memory for the result is nested as the input is.
void LikeInOrder(Call& call) {
  Like(call);
  call.GiveOrder(OrderOfNewLike(call.sizes(), call.in(0)));
}
// A view of all of it.
void ItsInput(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, call.in(0).sizes);
  call.GiveOrder(call.in(0).order);
}
void LikeFloating(Call& call) {
  LikeInOrder(call);
  call.out().dtype = Floating(call.in(0).dtype);
}
void LikeBool(Call& call) {
  LikeInOrder(call);
  call.out().dtype = c10::kBool;
}
void LikeSummed(Call& call) {
  Like(call);
  call.out().dtype = GivenDtype(call, Summed(call.in(0).dtype));
}
// The same, perhaps in another order in memory.
void LikeReordered(Call& call) {
  Like(call);
  call.out().order = {};
}
// The order of new memory in a format that is asked for.
StrideOrder OrderOfFormat(Call& call) {
  const std::optional<int64_t> format = call.number("memory_format");
  if (format == static_cast<int64_t>(c10::MemoryFormat::Contiguous)) return StrideOrder::Default(true);
  if (format == static_cast<int64_t>(c10::MemoryFormat::ChannelsLast)) return StrideOrder::ChannelsLast(true);
  return {};
}
// The input itself, if it has the format.
void Contiguous(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, call.in(0).sizes);
  const StrideOrder asked = OrderOfFormat(call);
  call.GiveOrder(asked.IsLike(call.in(0).order) ? call.in(0).order : asked.Inexact());
}
void Clone(Call& call) {
  Like(call);
  call.GiveOrder(call.is_none("memory_format") ? OrderOfNewLike(call.sizes(), call.in(0)) : OrderOfFormat(call));
}
void Abs(Call& call) {
  LikeInOrder(call);
  if (call.in(0).dtype && c10::isComplexType(*call.in(0).dtype)) call.out().dtype.reset();
}
void Clamp(Call& call) {
  LikeInOrder(call);
  call.out().dtype = call.num_inputs() == 3 ? Promoted(call, {0, 1, 2}) : Promoted(call, {0, 1});
  for (size_t i = 1; i < call.num_inputs(); ++i) {
    if (call.is_tensor_type(i) || HasMemory(*call.node().input(i)->type())) call.out() = {};
  }
}

// The order of what two tensors of default order give: new memory in the order in which the dimensions are nested in
// them, which a dimension of size 1, whose stride may be any, can disturb.
StrideOrder OrderOfDefaultOnes(Call& call, const std::optional<KnownSizes>& sizes) {
  const ValueFacts& a = call.in(0);
  const ValueFacts& b = call.in(1);
  const auto all_at_least = [&](int64_t least) {
    return sizes && std::ranges::all_of(*sizes, [&](KnownSize size) { return call.sizes().IsAtLeast(size, least); });
  };
  // Each operand has its dimensions in order then, but for those that it is expanded in, which are not asked.
  const bool no_ones = all_at_least(2);
  const bool alike = a.sizes == b.sizes && sizes && std::ranges::all_of(*sizes, &KnownSize::is_known);
  // Nor does any stride of new memory say otherwise.
  const bool exact = a.default_strides() && b.default_strides();
  if (!no_ones && !alike && !(exact && all_at_least(1))) return {};
  return StrideOrder::Default(exact || no_ones);
}

// Whether the dimensions of a tensor that is broadcast to one of as many dimensions as `nesting` has are nested as
// these say, but for those that it is expanded in.
bool IsNestedAs(const ValueFacts& part, const std::vector<size_t>& nesting) {
  if (!part.sizes || part.sizes->size() > nesting.size()) return false;
  const size_t extra = nesting.size() - part.sizes->size();
  std::vector<size_t> along;
  for (const size_t dim : nesting) {
    if (dim >= extra && (*part.sizes)[dim - extra] != 1) along.push_back(dim - extra);
  }
  if (along.size() <= 1) return true;
  if (!part.plain || !part.order.is_known()) return false;
  std::vector<size_t> own = part.order.Nesting(part.sizes->size());
  std::erase_if(own, [&](size_t dim) { return (*part.sizes)[dim] == 1; });
  return own == along;
}

// The order of what two tensors give together: the first that has two dimensions of more than one element says how
// these are nested in the result.
StrideOrder OrderOfBoth(Call& call, const std::optional<KnownSizes>& sizes) {
  const ValueFacts& a = call.in(0);
  const ValueFacts& b = call.in(1);
  if (a.contiguous() && b.contiguous()) {
    if (const StrideOrder order = OrderOfDefaultOnes(call, sizes); order.is_known()) return order;
  }
  if (!sizes) return {};
  const auto has_all = [&](const ValueFacts& facts) {
    return facts.sizes == sizes && std::ranges::all_of(*sizes, &KnownSize::is_known);
  };
  if (has_all(a) && has_all(b) && a.order.IsLike(b.order)) {
    return b.order.is_exact() ? OrderOfNewLike(call.sizes(), a) : a.order.Inexact();
  }
  if (has_all(a)) return a.order.Inexact();
  const bool b_decides = has_all(b) && b.order.is_known() && IsNestedAs(a, b.order.Nesting(sizes->size()));
  return b_decides ? b.order.Inexact() : StrideOrder();
}

void Elementwise(Call& call, Dtype dtype) {
  if (!call.is_tensor_type(1)) {
    if (!call.is_tensor_type(0)) return;
    call.Give(0, call.in(0), dtype, call.in(0).sizes);
    return call.GiveOrder(OrderOfNewLike(call.sizes(), call.in(0)));
  }
  if (!call.is_tensor_type(0)) {
    call.Give(0, call.in(1), dtype, call.in(1).sizes);
    if (call.in(1).contiguous()) call.GiveOrder(call.in(1).order);
    return;
  }
  const std::optional<KnownSizes> sizes = Broadcast(call.sizes(), call.in(0).sizes, call.in(1).sizes);
  call.Give(0, call.in(0), dtype, sizes);
  call.GiveOrder(OrderOfBoth(call, sizes));
}
void Binary(Call& call) { Elementwise(call, Promoted(call, {0, 1})); }
void BinaryFloating(Call& call) { Elementwise(call, Floating(Promoted(call, {0, 1}))); }
void Compare(Call& call) { Elementwise(call, c10::kBool); }
void Divide(Call& call) {
  const Dtype dtype = Promoted(call, {0, 1});
  if (call.is_none("rounding_mode")) return Elementwise(call, Floating(dtype));
  const c10::IValue* mode = call.constant("rounding_mode");
  Elementwise(call, mode != nullptr && mode->isString() ? dtype : Dtype());
}

void Where(Call& call) {
  if (call.num_inputs() != 3) return;
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  for (size_t i = 1; i < 3; ++i) {
    if (call.is_tensor_type(i)) sizes = Broadcast(call.sizes(), std::move(sizes), call.in(i).sizes);
  }
  call.Give(0, call.in(0), Promoted(call, {1, 2}), std::move(sizes));
}
void MaskedFill(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, Broadcast(call.sizes(), call.in(0).sizes, call.in(1).sizes));
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
  Reduce(call);
  // Of complex numbers it is a real one.
  if (call.in(0).dtype && c10::isComplexType(*call.in(0).dtype)) call.out().dtype.reset();
}
void ReduceSummed(Call& call) {
  call.Give(0, call.in(0), GivenDtype(call, Summed(call.in(0).dtype)), Reduced(call));
  call.GiveOrder(StrideOrder::Default(true));
}
void ReduceToBool(Call& call) {
  const bool bytes = call.in(0).dtype == c10::kByte;
  const std::optional<KnownSizes> dims = call.has("dim") ? call.numbers("dim") : std::nullopt;
  // These take no dimensions at their word: nothing is reduced.
  const bool none = dims && dims->empty();
  call.Give(0, call.in(0), bytes || !call.in(0).dtype ? Dtype() : c10::kBool, none ? call.in(0).sizes : Reduced(call));
}
void ReduceToIndex(Call& call) { call.Give(0, call.in(0), c10::kLong, Reduced(call)); }
// max(x), max(x, other), max(x, dim)
void Extremum(Call& call) {
  if (call.num_inputs() == 2 && call.is_tensor_type(1)) return Binary(call);
  Reduce(call);
  if (call.num_outputs() == 2) call.Give(1, call.in(0), c10::kLong, call.out().sizes);
}

}  // namespace

void AddElementwiseRules(FactRules& rules) {
  rules.Add(LikeInOrder,
            "relu relu6 gelu silu mish selu elu celu hardtanh hardswish hardsigmoid leaky_relu "
            "hardshrink softshrink softplus neg floor ceil round trunc frac sign square threshold");
  rules.Add(Like,
            "softsign logsigmoid log_sigmoid dropout feature_dropout alpha_dropout nan_to_num bitwise_not "
            "tril triu prelu");
  rules.Add(ItsInput, "detach alias");
  rules.Add(LikeFloating,
            "sigmoid tanh exp exp2 expm1 log log1p log2 log10 sqrt rsqrt sin cos tan asin acos atan "
            "sinh cosh erf erfc reciprocal");
  rules.Add(LikeBool, "logical_not isnan isinf isfinite");
  rules.Add(LikeSummed, "cumsum cumprod");
  rules.Add(LikeReordered, "roll flip rot90");
  rules.Add(Contiguous, "contiguous");
  rules.Add(Clone, "clone");
  rules.Add(Abs, "abs");
  rules.Add(Clamp, "clamp clamp_min clamp_max clip");
  rules.Add(Binary,
            "add sub mul maximum minimum fmod remainder rsub floor_divide pow __and__ __or__ __xor__ "
            "bitwise_and bitwise_or bitwise_xor");
  rules.Add(BinaryFloating, "true_divide atan2");
  rules.Add(Compare, "eq ne lt le gt ge logical_and logical_or logical_xor");
  rules.Add(Divide, "div divide");
  rules.Add(Where, "where");
  rules.Add(MaskedFill, "masked_fill");
  rules.Add(ReduceInOrder, "mean amax amin");
  rules.Add(ReduceToSpread, "var std");
  rules.Add(ReduceSummed, "sum prod");
  rules.Add(ReduceToBool, "any all");
  rules.Add(ReduceToIndex, "argmax argmin");
  rules.Add(Extremum, "max min");
}

}  // namespace hearth
