// Rows of a table of plain floats by a few ids: what LibTorch's dispatcher and indexing cost is many times the copy.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/embedding_ops.h>
#include <c10/util/SmallVector.h>

#include <algorithm>

#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/plain_tensor.h"

namespace hearth::native {
namespace {

// Of the result, up to which one thread copies faster than LibTorch shares.
constexpr int64_t kFewElements = 1 << 14;

// Whether all ids are rows of the table: what is not, LibTorch raises for.
bool AreRows(const int64_t* ids, int64_t count, int64_t rows) {
  return std::all_of(ids, ids + count, [&](int64_t id) { return id >= 0 && id < rows; });
}

// embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)
void Embedding(NativeArguments in, IValue* out) {
  const at::Tensor& table = in[0].toTensor();
  const at::Tensor& ids = in[1].toTensor();
  const bool plain = IsPlainFloat(table) && table.dim() == 2 && HasDefaultStrides(table) &&
                     ids.scalar_type() == at::kLong && ids.is_cpu() && ids.layout() == at::kStrided &&
                     (ids.is_contiguous() || ids.dim() == 1) && NoModeSeesOperators();
  if (!plain || ids.numel() * table.sizes()[1] > kFewElements) {
    EntryOf<at::_ops::embedding>().function(in, out);
    return;
  }
  const int64_t count = ids.numel(), width = table.sizes()[1];
  const int64_t step = ids.dim() == 1 && count > 1 ? ids.strides()[0] : 1;
  const int64_t* const from = ids.const_data_ptr<int64_t>();
  c10::SmallVector<int64_t, 16> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back(from[i * step]);
  if (!AreRows(rows.data(), count, table.sizes()[0])) {
    EntryOf<at::_ops::embedding>().function(in, out);
    return;
  }
  c10::SmallVector<int64_t, 6> sizes(ids.sizes().begin(), ids.sizes().end());
  sizes.push_back(width);
  at::Tensor result(at::detail::empty_cpu(sizes, at::kFloat));
  const float* const numbers = table.const_data_ptr<float>();
  float* const to = result.mutable_data_ptr<float>();
  for (int64_t i = 0; i < count; ++i)
    std::copy_n(numbers + rows[static_cast<size_t>(i)] * width, width, to + i * width);
  *out = std::move(result);
}

constexpr NativeEntry kEntries[] = {{"aten::embedding", Embedding}};

}  // namespace

std::span<const NativeEntry> EmbeddingNatives() { return kEntries; }

}  // namespace hearth::native
