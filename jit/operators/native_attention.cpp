// Attention of plain floats as one loop that keeps its scores to itself (kernels/attention.h): LibTorch's operator, and
// hearth::attention, which plans call in the place of the products and the softmax that it comes to. What is not plain
// or has too few queries goes LibTorch's way, and so do values of another width than their keys in LibTorch's operator.
#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention_ops.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "jit/kernels/attention.h"
#include "jit/kernels/target.h"
#include "jit/operators/attention_operands.h"
#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/plain_tensor.h"
#include "jit/support/denormals.h"
#include "jit/support/parallel_for.h"

namespace hearth::native {
namespace {

using sdpa::kCausal, sdpa::kDropout, sdpa::kKey, sdpa::kMask, sdpa::kQuery, sdpa::kRepeatsHeads, sdpa::kScale,
    sdpa::kValue;

// About as long a multiplication takes, with what is around it.
constexpr double kNanosecondsOfProduct = 0.025;
constexpr int64_t kWidestHead = 512;
// Of queries: with fewer of them most lanes of a vector would be idle.
constexpr int64_t kFewestQueries = 8;

// Tokens one after the other of one head of one sequence, whatever lies between them.
bool HasAdjacentNumbers(const at::Tensor& tensor) { return tensor.strides().back() == 1; }

// Whether they are heads that the kernel takes once their numbers are adjacent.
bool AreHeads(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  if (!IsPlainFloat(query) || !IsPlainFloat(key) || !IsPlainFloat(value)) return false;
  const auto rank = static_cast<size_t>(query.dim());
  if (rank < 3 || key.sizes().size() != rank || value.sizes().size() != rank) return false;
  const c10::IntArrayRef heads = query.sizes().slice(0, rank - 2);
  if (key.sizes().slice(0, rank - 2) != heads || value.sizes().slice(0, rank - 2) != heads) return false;
  if (key.sizes()[rank - 2] != value.sizes()[rank - 2] || key.sizes().back() != query.sizes().back()) return false;
  if (query.numel() == 0 || key.numel() == 0 || value.numel() == 0) return false;
  if (std::max(query.sizes().back(), value.sizes().back()) > kWidestHead) return false;
  return query.sizes()[rank - 2] >= kFewestQueries;
}

bool SuitsAsMask(const IValue& operand, const at::Tensor& query, const at::Tensor& key) {
  if (operand.isNone()) return true;
  const at::Tensor& mask = operand.toTensor();
  const bool is_bool = mask.defined() && mask.scalar_type() == at::kBool && mask.is_cpu() &&
                       mask.layout() == at::kStrided && IsWithin(mask.key_set(), query.key_set());
  if (!is_bool && !IsPlainFloat(mask)) return false;
  const auto fits = [](int64_t size, int64_t all) { return size == 1 || size == all; };
  const auto rank = static_cast<size_t>(query.dim());
  const size_t of_mask = mask.sizes().size();
  if (of_mask < 2 || of_mask > rank) return false;
  if (!fits(mask.sizes()[of_mask - 2], query.sizes()[rank - 2])) return false;
  if (!fits(mask.sizes()[of_mask - 1], key.sizes()[rank - 2])) return false;
  for (size_t i = 0; i + 2 < of_mask; ++i) {
    if (!fits(mask.sizes()[i], query.sizes()[i + rank - of_mask])) return false;
  }
  return true;
}

// Whether LibTorch's own fused attention takes these heads, or matrices one after the other, with that mask. It gives
// the order of the queries; the steps that LibTorch takes otherwise give contiguous memory.
bool HasOrderOfQueries(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const IValue& mask) {
  return query.dim() <= 4 && key.sizes() == value.sizes() && HasAdjacentNumbers(query) && HasAdjacentNumbers(key) &&
         HasAdjacentNumbers(value) &&
         (mask.isNone() || mask.toTensor().dim() == 2 || mask.toTensor().dim() == query.dim());
}

// Where head `number` begins.
int64_t HeadOffset(const at::Tensor& tensor, int64_t rank, int64_t number, c10::IntArrayRef heads) {
  const int64_t missing = rank - tensor.dim();
  int64_t offset = 0;
  for (int64_t i = rank - 3; i >= 0; --i) {
    const int64_t index = number % heads[static_cast<size_t>(i)];
    number /= heads[static_cast<size_t>(i)];
    if (i < missing) continue;
    const auto at = static_cast<size_t>(i - missing);
    if (tensor.sizes()[at] != 1) offset += index * tensor.strides()[at];
  }
  return offset;
}

at::Tensor MemoryInOrderOf(const at::Tensor& query) {
  if (query.dim() == 3) return at::Tensor(at::detail::empty_cpu(query.sizes(), at::kFloat));
  return at::Tensor(at::detail::empty_strided_cpu(query.sizes(),
                                                  query.is_non_overlapping_and_dense()
                                                      ? query.strides().vec()
                                                      : at::infer_dense_strides(query.sizes(), query.strides()),
                                                  at::kFloat));
}

struct FreeAligned {
  void operator()(float* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
};

struct AttentionOptions {
  double scale;
  bool causal = false;
  kernels::AttentionHead::Unseen unseen = kernels::AttentionHead::Unseen::kZeros;
};

void AttendPlain(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const IValue& masks,
                 const AttentionOptions& options, const at::Tensor& result) {
  const auto rank = static_cast<size_t>(query.dim());
  kernels::AttentionHead head{.queries = query.sizes()[rank - 2],
                              .keys = key.sizes()[rank - 2],
                              .width = query.sizes()[rank - 1],
                              .value_width = value.sizes()[rank - 1],
                              .query = query.const_data_ptr<float>(),
                              .key = key.const_data_ptr<float>(),
                              .value = value.const_data_ptr<float>(),
                              .result = result.mutable_data_ptr<float>(),
                              .query_stride = query.strides()[rank - 2],
                              .key_stride = key.strides()[rank - 2],
                              .value_stride = value.strides()[rank - 2],
                              .result_stride = result.strides()[rank - 2],
                              .scale = static_cast<float>(options.scale),
                              .causal = options.causal,
                              .unseen = options.unseen};
  const at::Tensor* const mask = masks.isNone() ? nullptr : &masks.toTensor();
  if (mask != nullptr) {
    const size_t of_mask = mask->sizes().size();
    const auto stride = [&](size_t i) { return mask->sizes()[i] == 1 ? 0 : mask->strides()[i]; };
    head.kind =
        mask->scalar_type() == at::kBool ? kernels::AttentionHead::Mask::kKept : kernels::AttentionHead::Mask::kAdded;
    head.mask = mask->const_data_ptr();
    head.mask_query_stride = stride(of_mask - 2);
    head.mask_key_stride = stride(of_mask - 1);
  }
  const c10::IntArrayRef heads = query.sizes().slice(0, rank - 2);
  const int64_t blocks = kernels::AttentionBlocks(head.queries);
  const auto attend = [&](int64_t begin, int64_t end) {
    const DenormalsAreZero fast;
    const std::unique_ptr<float, FreeAligned> scratch(static_cast<float*>(
        ::operator new[](static_cast<size_t>(kernels::AttentionScratch(head.width, head.value_width)) * sizeof(float),
                         std::align_val_t{64})));
    for (int64_t i = begin; i < end; ++i) {
      const auto offset = [&](const at::Tensor& tensor) {
        return HeadOffset(tensor, static_cast<int64_t>(rank), i / blocks, heads);
      };
      kernels::AttentionHead one = head;
      one.query += offset(query);
      one.key += offset(key);
      one.value += offset(value);
      one.result += offset(result);
      if (mask != nullptr) {
        one.mask = static_cast<const char*>(head.mask) + offset(*mask) * static_cast<int64_t>(mask->element_size());
      }
      kernels::AttendBlock(one, i % blocks, scratch.get());
    }
  };
  const int64_t count = query.numel() / (head.queries * head.width) * blocks;
  const int64_t work = (head.queries + blocks - 1) / blocks * head.keys * (head.width + head.value_width);
  ParallelFor(count, kNanosecondsOfProduct * static_cast<double>(work), attend);
}

at::Tensor WithAdjacentNumbers(const at::Tensor& tensor) {
  return HasAdjacentNumbers(tensor) ? tensor : tensor.contiguous();
}

// scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0,
//  bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor
void Attention(NativeArguments in, IValue* out) {
  const bool suits = kernels::HasVectors() && in[kQuery].isTensor() && in[kKey].isTensor() && in[kValue].isTensor() &&
                     AreHeads(in[kQuery].toTensor(), in[kKey].toTensor(), in[kValue].toTensor()) &&
                     NoModeSeesOperators() && SuitsAsMask(in[kMask], in[kQuery].toTensor(), in[kKey].toTensor()) &&
                     in[kDropout].toDouble() == 0 && !in[kRepeatsHeads].toBool() &&
                     !(in[kCausal].toBool() && !in[kMask].isNone());
  // The steps that LibTorch takes where it has no kernel multiply by what a causal mask hides: NaN and infinities show.
  const bool in_order =
      suits && HasOrderOfQueries(in[kQuery].toTensor(), in[kKey].toTensor(), in[kValue].toTensor(), in[kMask]);
  if (!suits || (in[kCausal].toBool() && !in_order)) {
    EntryOf<at::_ops::scaled_dot_product_attention>().function(in, out);
    return;
  }
  const at::Tensor &query = in[kQuery].toTensor(), &key = in[kKey].toTensor(), &value = in[kValue].toTensor();
  const double scale =
      in[kScale].isNone() ? 1 / std::sqrt(static_cast<double>(query.sizes().back())) : in[kScale].toDouble();
  std::vector<int64_t> sizes = query.sizes().vec();
  sizes.back() = value.sizes().back();
  at::Tensor result = in_order ? MemoryInOrderOf(query) : at::Tensor(at::detail::empty_cpu(sizes, at::kFloat));
  AttendPlain(WithAdjacentNumbers(query), WithAdjacentNumbers(key), WithAdjacentNumbers(value), in[kMask],
              {.scale = scale, .causal = in[kCausal].toBool()}, result);
  *out = std::move(result);
}

// What hearth::attention stands for.
at::Tensor AttentionInSteps(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const IValue& bias,
                            double scale) {
  at::Tensor scores = at::matmul(query, key.transpose(-2, -1)).mul(scale);
  if (!bias.isNone()) scores = scores.add(bias.toTensor());
  return at::matmul(at::softmax(scores, -1), value);
}

// hearth::attention(Tensor query, Tensor key, Tensor value, Tensor? bias, float scale, bool tokens_first) -> Tensor:
// contiguous, its dimensions -3 and -2 swapped if `tokens_first`.
void BiasedAttention(NativeArguments in, IValue* out) {
  const at::Tensor &query = in[0].toTensor(), &key = in[1].toTensor(), &value = in[2].toTensor();
  const double scale = in[4].toDouble();
  const bool tokens_first = in[5].toBool();
  const auto swapped = [&](const at::Tensor& tensor) { return tokens_first ? tensor.transpose(-3, -2) : tensor; };
  if (!kernels::HasVectors() || !AreHeads(query, key, value) || !NoModeSeesOperators() ||
      !SuitsAsMask(in[3], query, key)) {
    *out = swapped(AttentionInSteps(query, key, value, in[3], scale)).contiguous();
    return;
  }
  std::vector<int64_t> sizes = query.sizes().vec();
  sizes.back() = value.sizes().back();
  if (tokens_first) std::swap(sizes[sizes.size() - 3], sizes[sizes.size() - 2]);
  at::Tensor result(at::detail::empty_cpu(sizes, at::kFloat));
  AttendPlain(WithAdjacentNumbers(query), WithAdjacentNumbers(key), WithAdjacentNumbers(value), in[3],
              {.scale = scale, .unseen = kernels::AttentionHead::Unseen::kNan}, swapped(result));
  *out = std::move(result);
}

constexpr NativeEntry kEntries[] = {{"aten::scaled_dot_product_attention", Attention},
                                    {"hearth::attention", BiasedAttention}};

}  // namespace

std::span<const NativeEntry> AttentionNatives() { return kEntries; }

}  // namespace hearth::native
