#include "jit/analysis/fact_rules.h"

#include <algorithm>
#include <vector>

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

void Like(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, call.in(0).sizes);
  call.out().contiguous = call.in(0).contiguous && call.in(0).plain;
  call.out().default_strides = call.in(0).default_strides && call.out().contiguous;
}
void LikeFloating(Call& call) {
  Like(call);
  call.out().dtype = Floating(call.in(0).dtype);
}
void LikeBool(Call& call) {
  Like(call);
  call.out().dtype = c10::kBool;
}
void LikeSummed(Call& call) {
  Like(call);
  call.out().dtype = GivenDtype(call, Summed(call.in(0).dtype));
}
// The same, perhaps in another order in memory.
void LikeReordered(Call& call) {
  Like(call);
  call.out().contiguous = call.out().default_strides = false;
}
void Contiguous(Call& call) {
  Like(call);
  const std::optional<int64_t> format = call.number("memory_format");
  call.out().contiguous = call.in(0).plain && format == static_cast<int64_t>(c10::MemoryFormat::Contiguous);
}
void Clone(Call& call) {
  Like(call);
  call.out().contiguous &= call.is_none("memory_format");
  call.out().default_strides &= call.out().contiguous;
  if (call.in(0).plain && call.number("memory_format") == static_cast<int64_t>(c10::MemoryFormat::Contiguous)) {
    call.out().contiguous = call.out().default_strides = true;
  }
}
void Abs(Call& call) {
  Like(call);
  if (call.in(0).dtype && c10::isComplexType(*call.in(0).dtype)) call.out().dtype.reset();
}
void Clamp(Call& call) {
  Like(call);
  call.out().dtype = call.num_inputs() == 3 ? Promoted(call, {0, 1, 2}) : Promoted(call, {0, 1});
  for (size_t i = 1; i < call.num_inputs(); ++i) {
    if (call.is_tensor_type(i) || HasMemory(*call.node().input(i)->type())) call.out() = {};
  }
}

void Elementwise(Call& call, Dtype dtype) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  bool contiguous = call.in(0).contiguous, default_strides = call.in(0).default_strides;
  size_t like = 0;
  if (!call.is_tensor_type(0)) {
    like = 1;
    if (!call.is_tensor_type(1)) return;
    sizes = call.in(1).sizes;
    contiguous = call.in(1).contiguous;
    default_strides = call.in(1).default_strides;
  } else if (call.is_tensor_type(1)) {
    default_strides &= call.in(1).default_strides;
    contiguous &= call.in(1).contiguous;
    sizes = Broadcast(call.sizes(), std::move(sizes), call.in(1).sizes);
    // A size of 1 may have any stride, and that is asked which dimension comes first. Where the result has none, each
    // operand has its dimensions in order, but for those that it is expanded in, which are not asked.
    const bool no_ones =
        sizes && std::ranges::all_of(*sizes, [&](KnownSize size) { return call.sizes().IsAtLeast(size, 2); });
    const bool alike =
        call.in(0).sizes == call.in(1).sizes && sizes && std::ranges::all_of(*sizes, &KnownSize::is_known);
    // Nor does any stride of new memory say otherwise.
    const bool in_order = default_strides && sizes &&
                          std::ranges::all_of(*sizes, [&](KnownSize size) { return call.sizes().IsAtLeast(size, 1); });
    contiguous &= no_ones || alike || in_order;
    default_strides |= no_ones;
  }
  call.Give(0, call.in(like), dtype, std::move(sizes));
  call.out().contiguous = contiguous && call.out().plain;
  call.out().default_strides = call.out().contiguous && default_strides;
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
void ReduceToSpread(Call& call) {
  Reduce(call);
  // Of complex numbers it is a real one.
  if (call.in(0).dtype && c10::isComplexType(*call.in(0).dtype)) call.out().dtype.reset();
}
void ReduceSummed(Call& call) { call.Give(0, call.in(0), GivenDtype(call, Summed(call.in(0).dtype)), Reduced(call)); }
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
  rules.Add(Like,
            "relu relu6 gelu silu mish selu elu celu hardtanh hardswish hardsigmoid leaky_relu "
            "hardshrink softshrink softplus softsign logsigmoid log_sigmoid neg floor ceil round trunc "
            "frac sign square threshold dropout feature_dropout alpha_dropout nan_to_num bitwise_not "
            "tril triu prelu detach alias");
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
  rules.Add(Reduce, "mean amax amin");
  rules.Add(ReduceToSpread, "var std");
  rules.Add(ReduceSummed, "sum prod");
  rules.Add(ReduceToBool, "any all");
  rules.Add(ReduceToIndex, "argmax argmin");
  rules.Add(Extremum, "max min");
}

}  // namespace hearth
