// What the files of native operators share: typed reading of arguments without touching reference counts, and the
// tables that native.cpp joins.
#pragma once

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <c10/util/complex.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "jit/operators/native.h"

namespace hearth::native {

using c10::IValue;
using Complex = c10::complex<double>;

// The number of an IValue that holds a T itself: its first member. (native_test.cpp holds LibTorch to that.)
template <typename T>
inline T Payload(const IValue& value) {
  T number;
  std::memcpy(&number, static_cast<const void*>(&value), sizeof(T));
  return number;
}

// The argument as a T. Throws c10::Error if it is something else.
//
// IValue's own toInt and toBool take symbolic numbers too, and so are too long for compilers to put them in line.
template <typename T>
inline T Get(const IValue& value) = delete;
template <>
inline int64_t Get<int64_t>(const IValue& value) {
  return __builtin_expect(value.isInt(), 1) ? Payload<int64_t>(value) : value.toInt();
}
template <>
inline double Get<double>(const IValue& value) {
  return value.toDouble();
}
template <>
inline bool Get<bool>(const IValue& value) {
  return __builtin_expect(value.isBool(), 1) ? Payload<bool>(value) : value.toBool();
}
template <>
inline Complex Get<Complex>(const IValue& value) {
  return value.toComplexDouble();
}
template <>
inline const std::string& Get<const std::string&>(const IValue& value) {
  return value.toStringRef();
}

// A list's or dict's own storage, without counting a reference. The reference is good as long as the argument.
inline std::vector<IValue>& Elements(const IValue& value) {
  TORCH_CHECK(value.isList(), "Expected a list but got ", value.tagKind());
  return static_cast<c10::detail::ListImpl*>(const_cast<void*>(value.internalToPointer()))->list;
}
inline const c10::TypePtr& ElementType(const IValue& value) {
  TORCH_CHECK(value.isList(), "Expected a list but got ", value.tagKind());
  return static_cast<const c10::detail::ListImpl*>(value.internalToPointer())->elementType;
}
// Null for None. Throws c10::Error if it is something else than a tensor.
inline const at::Tensor* OptionalTensorOf(const IValue& value) { return value.isNone() ? nullptr : &value.toTensor(); }
inline c10::detail::DictImpl& DictOf(const IValue& value) {
  TORCH_CHECK(value.isGenericDict(), "Expected a dict but got ", value.tagKind());
  return *static_cast<c10::detail::DictImpl*>(const_cast<void*>(value.internalToPointer()));
}
inline IValue MakeList(const c10::TypePtr& element_type, std::vector<IValue> elements) {
  c10::List<IValue> list(element_type);
  IValue made(list);
  Elements(made) = std::move(elements);
  return made;
}

// Python's rule for slices: clamps start and end into [0, length] for the sign of step and gives the number of
// elements. Absent bounds are INT64_MAX. Throws on a step of 0 or INT64_MIN.
int64_t AdjustSlice(int64_t length, int64_t* start, int64_t* end, int64_t step);

std::span<const NativeEntry> ScalarNatives();
std::span<const NativeEntry> MathNatives();
std::span<const NativeEntry> ListNatives();
std::span<const NativeEntry> DictNatives();
std::span<const NativeEntry> StringNatives();
std::span<const NativeEntry> StringPadNatives();
std::span<const NativeEntry> StringSearchNatives();
std::span<const NativeEntry> ValueNatives();
std::span<const NativeEntry> TensorQueryNatives();
std::span<const NativeEntry> SmallTensorNatives();
std::span<const NativeEntry> TensorMathNatives();
std::span<const NativeEntry> TensorShapeNatives();
std::span<const NativeEntry> TensorLayerNatives();
std::span<const NativeEntry> IntoMemoryNatives();
std::span<const NativeEntry> LinearNatives();
std::span<const NativeEntry> CellNatives();
std::span<const NativeEntry> ChannelShuffleNatives();
std::span<const NativeEntry> ConcatenationNatives();
std::span<const NativeEntry> ConvolutionNatives();
std::span<const NativeEntry> CopyNatives();
std::span<const NativeEntry> GpuConvolutionNatives();
std::span<const NativeEntry> AttentionNatives();
std::span<const NativeEntry> EmbeddingNatives();
std::span<const NativeEntry> GroupNormNatives();
std::span<const NativeEntry> GroupScalesNatives();
std::span<const NativeEntry> GroupedLinearNatives();
std::span<const NativeEntry> PoolingNatives();
std::span<const NativeEntry> RecurrenceNatives();
std::span<const NativeEntry> ReductionNatives();
std::span<const NativeEntry> FusedNatives();
std::span<const NativeEntry> SoftmaxNatives();
std::span<const NativeEntry> SpreadChannelsNatives();
std::span<const NativeEntry> UpsamplingNatives();

}  // namespace hearth::native
