// Operators whose result is numbers of their tensor in another place, and nothing else: a reshape that cannot be a
// view, contiguous, clone, roll and padding with a constant. LibTorch copies with threads of its own, or with none.
// What is not of plain floats goes LibTorch's way, and so does what needs no copy.
#include <ATen/EmptyTensor.h>
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/core/Scalar.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/clone_ops.h>
#include <ATen/ops/constant_pad_nd_ops.h>
#include <ATen/ops/contiguous_ops.h>
#include <ATen/ops/pad_ops.h>
#include <ATen/ops/reshape_ops.h>
#include <ATen/ops/roll_ops.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/plain_tensor.h"
#include "jit/operators/strided_copy.h"

namespace hearth::native {
namespace {

using Sizes = at::DimVector;

Sizes SizesIn(const IValue& list) {
  Sizes sizes;
  for (const IValue& size : Elements(list)) sizes.push_back(Get<int64_t>(size));
  return sizes;
}

// reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)
void Reshape(NativeArguments in, IValue* out) {
  const at::Tensor& tensor = in[0].toTensor();
  if (!tensor.defined() || tensor.is_contiguous() || !MayCopy(tensor)) {
    EntryOf<at::_ops::reshape>().function(in, out);
    return;
  }
  const Sizes sizes = at::infer_size_dv(SizesIn(in[1]), tensor.numel());
  *out = at::detail::computeStride(tensor.sizes(), tensor.strides(), sizes)
             ? tensor.view(sizes)
             : Copied(tensor, at::MemoryFormat::Contiguous).view(sizes);
}

// Whether a tensor of this rank can be in the format.
bool Suits(at::MemoryFormat format, const at::Tensor& tensor) {
  return format == at::MemoryFormat::Contiguous || (format == at::MemoryFormat::ChannelsLast && tensor.dim() == 4);
}

// contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)
void Contiguous(NativeArguments in, IValue* out) {
  const at::Tensor& tensor = in[0].toTensor();
  const at::MemoryFormat format = in[1].toMemoryFormat();
  if (!MayCopy(tensor) || !Suits(format, tensor) || tensor.is_contiguous(format)) {
    EntryOf<at::_ops::contiguous>().function(in, out);
    return;
  }
  *out = Copied(tensor, format);
}

// A copy that lies as the tensor does. Not defined where some of its memory is left out or used twice.
at::Tensor Clone(const at::Tensor& tensor) {
  if (!tensor.is_non_overlapping_and_dense()) return {};
  at::Tensor result(at::detail::empty_strided_cpu(tensor.sizes(), tensor.strides(), at::kFloat));
  CopyFloats(tensor, result);
  return result;
}

// clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
void CloneTensor(NativeArguments in, IValue* out) {
  const at::Tensor& tensor = in[0].toTensor();
  const at::MemoryFormat format = in[1].isNone() ? at::MemoryFormat::Preserve : in[1].toMemoryFormat();
  at::Tensor result;
  if (MayCopy(tensor) && format == at::MemoryFormat::Preserve) {
    result = Clone(tensor);
  } else if (MayCopy(tensor) && Suits(format, tensor)) {
    result = Copied(tensor, format);
  }
  if (!result.defined()) {
    EntryOf<at::_ops::clone>().function(in, out);
    return;
  }
  *out = std::move(result);
}

// A part of a dimension, and where it comes to lie.
struct Moved {
  int64_t from, to, size;
};

// For each choice of one part in each dimension.
void AddBlocks(const at::Tensor& tensor, const at::Tensor& result, const std::vector<std::vector<Moved>>& parts,
               size_t dimension, CopiedBlock block, std::vector<CopiedBlock>& blocks) {
  if (dimension == parts.size()) return blocks.push_back(std::move(block));
  const int64_t from_stride = tensor.strides()[dimension], to_stride = result.strides()[dimension];
  for (const Moved& part : parts[dimension]) {
    CopiedBlock next = block;
    next.from += part.from * from_stride;
    next.to += part.to * to_stride;
    next.dimensions.push_back({part.size, from_stride, to_stride});
    AddBlocks(tensor, result, parts, dimension + 1, std::move(next), blocks);
  }
}

void CopyParts(const at::Tensor& tensor, const std::vector<std::vector<Moved>>& parts, at::Tensor& result) {
  std::vector<CopiedBlock> blocks;
  AddBlocks(tensor, result, parts, 0, {tensor.const_data_ptr<float>(), result.mutable_data_ptr<float>(), {}}, blocks);
  CopyBlocks(blocks);
}

// By dimension, what becomes of its elements; nothing where the operands are not of the usual kind.
std::optional<std::vector<std::vector<Moved>>> Rolled(const at::Tensor& tensor, const IValue& shifts,
                                                      const IValue& dims) {
  const std::vector<IValue>&each = Elements(dims), &by = Elements(shifts);
  if (each.empty() || each.size() != by.size()) return {};
  std::vector<std::vector<Moved>> parts;
  for (const int64_t size : tensor.sizes()) parts.push_back({{0, 0, size}});
  for (size_t i = 0; i < each.size(); ++i) {
    const int64_t dim = Get<int64_t>(each[i]) + (Get<int64_t>(each[i]) < 0 ? tensor.dim() : 0);
    if (dim < 0 || dim >= tensor.dim()) return {};
    const int64_t size = tensor.sizes()[static_cast<size_t>(dim)];
    const int64_t shift = (Get<int64_t>(by[i]) % size + size) % size;
    std::vector<Moved>& of_dim = parts[static_cast<size_t>(dim)];
    if (of_dim.size() != 1) return {};
    if (shift > 0) of_dim = {{size - shift, 0, shift}, {0, shift, size - shift}};
  }
  return parts;
}

// roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor
void Roll(NativeArguments in, IValue* out) {
  const at::Tensor& tensor = in[0].toTensor();
  // Of other formats LibTorch makes this one or another, by what is rolled.
  const bool is_usual = MayCopy(tensor) && tensor.suggest_memory_format() == at::MemoryFormat::Contiguous;
  const auto parts = is_usual ? Rolled(tensor, in[1], in[2]) : std::nullopt;
  if (!parts) {
    EntryOf<at::_ops::roll>().function(in, out);
    return;
  }
  at::Tensor result = NewFloats(tensor.sizes(), at::MemoryFormat::Contiguous);
  CopyParts(tensor, *parts, result);
  *out = std::move(result);
}

// The tensor with a number before and after it in its last dimensions, the last one first. Not defined where the
// padding is negative or of too many dimensions.
at::Tensor Padded(const at::Tensor& tensor, const IValue& padding, const at::Scalar& number) {
  const std::vector<IValue>& pads = Elements(padding);
  const auto rank = static_cast<size_t>(tensor.dim());
  if (pads.size() % 2 != 0 || pads.size() / 2 > rank) return {};
  constexpr int64_t kMost = int64_t{1} << 30;
  Sizes sizes(tensor.sizes());
  std::vector<std::vector<Moved>> parts(rank);
  bool has_any = false;
  for (size_t i = 0; i < rank; ++i) {
    const size_t dimension = rank - 1 - i;
    const int64_t before = 2 * i < pads.size() ? Get<int64_t>(pads[2 * i]) : 0;
    const int64_t after = 2 * i < pads.size() ? Get<int64_t>(pads[2 * i + 1]) : 0;
    if (before < 0 || after < 0 || before > kMost || after > kMost) return {};
    has_any = has_any || before > 0 || after > 0;
    parts[dimension] = {{0, before, sizes[dimension]}};
    sizes[dimension] += before + after;
  }
  if (!has_any) return Clone(tensor);
  at::Tensor result = NewFloats(sizes, tensor.suggest_memory_format());
  FillFloats(result, number.toFloat());
  CopyParts(tensor, parts, result);
  return result;
}

// constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor
void ConstantPad(NativeArguments in, IValue* out) {
  at::Tensor result;
  if (MayCopy(in[0].toTensor()) && in[2].isScalar() && !in[2].isComplexDouble())
    result = Padded(in[0].toTensor(), in[1], in[2].toScalar());
  if (!result.defined()) {
    EntryOf<at::_ops::constant_pad_nd>().function(in, out);
    return;
  }
  *out = std::move(result);
}

// pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor
void Pad(NativeArguments in, IValue* out) {
  at::Tensor result;
  if (MayCopy(in[0].toTensor()) && in[2].toStringRef() == "constant" && (in[3].isNone() || in[3].isDouble()))
    result = Padded(in[0].toTensor(), in[1], in[3].isNone() ? 0.0 : in[3].toDouble());
  if (!result.defined()) {
    EntryOf<at::_ops::pad>().function(in, out);
    return;
  }
  *out = std::move(result);
}

constexpr NativeEntry kEntries[] = {
    {"aten::reshape", Reshape}, {"aten::contiguous", Contiguous},       {"aten::clone", CloneTensor},
    {"aten::roll", Roll},       {"aten::constant_pad_nd", ConstantPad}, {"aten::pad", Pad},
};

}  // namespace

std::span<const NativeEntry> CopyNatives() { return kEntries; }

}  // namespace hearth::native
