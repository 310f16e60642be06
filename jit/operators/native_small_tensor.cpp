// Arithmetic on float tensors of up to a thousand elements, where LibTorch's dispatch and iterators cost more than the
// arithmetic does: a direct loop, in the operand's own memory if that dies here, or where the result shall be. The
// results are LibTorch's to the last bit. Whatever is not plain (another dtype, layout, device or shape, gradients, a
// mode that sees operators) goes LibTorch's way.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/sub_ops.h>

#include <optional>

#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/plain_tensor.h"
#include "jit/operators/relu_of.h"

namespace hearth::native {
namespace {

constexpr int64_t kMaxElements = 1024;

// Whether the loops below may stand for LibTorch's kernel.
bool IsSmallAndPlain(const IValue& value) {
  if (!value.isTensor()) return false;
  const at::Tensor& tensor = value.toTensor();
  if (!IsPlainFloat(tensor)) return false;
  const int64_t elements = tensor.numel();
  return elements != 0 && elements <= kMaxElements && HasDefaultStrides(tensor);
}

std::optional<float> RealNumber(const IValue& value) {
  if (value.isDouble()) return static_cast<float>(value.toDouble());
  if (value.isInt()) return static_cast<float>(value.toInt());
  return std::nullopt;
}

bool IsOne(const IValue& value) { return value.isInt() && value.toInt() == 1; }

// Where the result goes: the first operand's own tensor if nobody else refers to it, else a new one.
at::Tensor ResultLike(NativeArguments in, IValue* out) {
  const at::Tensor& operand = in[0].toTensor();
  const bool dies = in.values[0] == out;
  if (dies && operand.use_count() == 1 && operand.storage().use_count() == 1 &&
      operand.storage().nbytes() == static_cast<size_t>(operand.numel()) * sizeof(float) && !operand.requires_grad()) {
    return std::move(*out).toTensor();
  }
  return at::Tensor(at::detail::empty_cpu(operand.sizes(), at::kFloat));
}

// Gives `function` of each number below `count`: eight at a time, which the compiler makes vector instructions of.
// Where it reads what `to` has, that is at the same place.
template <typename Function>
void Fill(float* to, int64_t count, Function function) {
  constexpr int64_t kTogether = 8;
  int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    float together[kTogether];
    for (int64_t j = 0; j < kTogether; ++j) together[j] = function(i + j);
    for (int64_t j = 0; j < kTogether; ++j) to[i + j] = together[j];
  }
  for (; i < count; ++i) to[i] = function(i);
}

template <typename Function>
void Map(NativeArguments in, IValue* out, Function function) {
  const int64_t elements = in[0].toTensor().numel();
  const float* from = in[0].toTensor().const_data_ptr<float>();
  at::Tensor result = ResultLike(in, out);
  Fill(result.mutable_data_ptr<float>(), elements, [&](int64_t i) { return function(from[i]); });
  *out = std::move(result);
}

struct Plus {
  static float Of(float a, float b) { return a + b; }
};
struct Minus {
  static float Of(float a, float b) { return a - b; }
};
struct Times {
  static float Of(float a, float b) { return a * b; }
};
struct Over {
  static float Of(float a, float b) { return a / b; }
};

// op.Scalar(Tensor self, Scalar other[, Scalar alpha=1])
template <typename Operation, typename AtenOp, bool has_alpha>
void WithScalar(NativeArguments in, IValue* out) {
  const std::optional<float> other = RealNumber(in[1]);
  if (!other || !IsSmallAndPlain(in[0]) || (has_alpha && !IsOne(in[2])) || !NoModeSeesOperators()) {
    EntryOf<AtenOp>().function(in, out);
    return;
  }
  Map(in, out, [b = *other](float a) { return Operation::Of(a, b); });
}

// op.Tensor(Tensor self, Tensor other[, Scalar alpha=1])
template <typename Operation, typename AtenOp, bool has_alpha>
void WithTensor(NativeArguments in, IValue* out) {
  if (!IsSmallAndPlain(in[0]) || !IsSmallAndPlain(in[1]) || (has_alpha && !IsOne(in[2])) ||
      in[0].toTensor().sizes() != in[1].toTensor().sizes() || !NoModeSeesOperators()) {
    EntryOf<AtenOp>().function(in, out);
    return;
  }
  const at::Tensor other = in[1].toTensor();  // may be the very tensor that the result is written to
  const int64_t elements = other.numel();
  const float* a = in[0].toTensor().const_data_ptr<float>();
  const float* b = other.const_data_ptr<float>();
  at::Tensor result = ResultLike(in, out);
  Fill(result.mutable_data_ptr<float>(), elements, [&](int64_t i) { return Operation::Of(a[i], b[i]); });
  *out = std::move(result);
}

// Whether to write one element and then read the next is to read them all first.
bool AreApartOrOne(const at::Tensor& a, const at::Tensor& b) {
  const float* begin_a = a.const_data_ptr<float>();
  const float* begin_b = b.const_data_ptr<float>();
  return begin_a == begin_b || begin_a + a.numel() <= begin_b || begin_b + b.numel() <= begin_a;
}

// op.out(Tensor self, Tensor other[, Scalar alpha=1], Tensor(a!) out)
template <typename Operation, typename AtenOp, bool has_alpha>
void WithTensorInto(NativeArguments in, IValue* out) {
  const IValue& memory = in[has_alpha ? 3 : 2];
  const bool small = IsSmallAndPlain(in[0]) && IsSmallAndPlain(in[1]) && IsSmallAndPlain(memory) &&
                     (!has_alpha || IsOne(in[2])) && NoModeSeesOperators();
  if (small) {
    const at::Tensor& left = in[0].toTensor();
    const at::Tensor& right = in[1].toTensor();
    const at::Tensor& result = memory.toTensor();
    if (left.sizes() == right.sizes() && left.sizes() == result.sizes() && AreApartOrOne(left, result) &&
        AreApartOrOne(right, result)) {
      const float* a = left.const_data_ptr<float>();
      const float* b = right.const_data_ptr<float>();
      Fill(result.mutable_data_ptr<float>(), result.numel(), [&](int64_t i) { return Operation::Of(a[i], b[i]); });
      *out = memory;
      return;
    }
  }
  EntryOf<AtenOp>().function(in, out);
}

// Whether the loops below may write to the tensor, which counts as written then, as after LibTorch's kernel.
bool BeginWrite(const IValue& value) {
  if (!IsSmallAndPlain(value) || value.toTensor().requires_grad()) return false;
  value.toTensor().unsafeGetTensorImpl()->bump_version();
  return true;
}

// op_.Scalar(Tensor(a!) self, Scalar other[, Scalar alpha=1])
template <typename Operation, typename AtenOp, bool has_alpha>
void WithScalarInPlace(NativeArguments in, IValue* out) {
  const std::optional<float> other = RealNumber(in[1]);
  if (!other || (has_alpha && !IsOne(in[2])) || !NoModeSeesOperators() || !BeginWrite(in[0])) {
    EntryOf<AtenOp>().function(in, out);
    return;
  }
  float* a = in[0].toTensor().mutable_data_ptr<float>();
  Fill(a, in[0].toTensor().numel(), [&](int64_t i) { return Operation::Of(a[i], *other); });
  *out = in[0];
}

// op_.Tensor(Tensor(a!) self, Tensor other[, Scalar alpha=1])
template <typename Operation, typename AtenOp, bool has_alpha>
void WithTensorInPlace(NativeArguments in, IValue* out) {
  if (!IsSmallAndPlain(in[0]) || !IsSmallAndPlain(in[1]) || (has_alpha && !IsOne(in[2])) ||
      in[0].toTensor().sizes() != in[1].toTensor().sizes() || !AreApartOrOne(in[0].toTensor(), in[1].toTensor()) ||
      !NoModeSeesOperators() || !BeginWrite(in[0])) {
    EntryOf<AtenOp>().function(in, out);
    return;
  }
  float* a = in[0].toTensor().mutable_data_ptr<float>();
  const float* b = in[1].toTensor().const_data_ptr<float>();
  Fill(a, in[0].toTensor().numel(), [&](int64_t i) { return Operation::Of(a[i], b[i]); });
  *out = in[0];
}

void ReluInPlace(NativeArguments in, IValue* out) {
  if (!NoModeSeesOperators() || !BeginWrite(in[0])) {
    EntryOf<at::_ops::relu_>().function(in, out);
    return;
  }
  float* a = in[0].toTensor().mutable_data_ptr<float>();
  Fill(a, in[0].toTensor().numel(), [&](int64_t i) { return ReluOf(a[i]); });
  *out = in[0];
}

void Relu(NativeArguments in, IValue* out) {
  if (!IsSmallAndPlain(in[0]) || !NoModeSeesOperators()) {
    EntryOf<at::_ops::relu>().function(in, out);
    return;
  }
  Map(in, out, ReluOf);
}

constexpr NativeEntry kEntries[] = {
    {"aten::add.Scalar", WithScalar<Plus, at::_ops::add_Scalar, true>},
    {"aten::sub.Scalar", WithScalar<Minus, at::_ops::sub_Scalar, true>},
    {"aten::mul.Scalar", WithScalar<Times, at::_ops::mul_Scalar, false>},
    {"aten::div.Scalar", WithScalar<Over, at::_ops::div_Scalar, false>},
    {"aten::add.Tensor", WithTensor<Plus, at::_ops::add_Tensor, true>},
    {"aten::sub.Tensor", WithTensor<Minus, at::_ops::sub_Tensor, true>},
    {"aten::mul.Tensor", WithTensor<Times, at::_ops::mul_Tensor, false>},
    {"aten::div.Tensor", WithTensor<Over, at::_ops::div_Tensor, false>},
    {"aten::add.out", WithTensorInto<Plus, at::_ops::add_out, true>},
    {"aten::sub.out", WithTensorInto<Minus, at::_ops::sub_out, true>},
    {"aten::mul.out", WithTensorInto<Times, at::_ops::mul_out, false>},
    {"aten::div.out", WithTensorInto<Over, at::_ops::div_out, false>},
    {"aten::add_.Scalar", WithScalarInPlace<Plus, at::_ops::add__Scalar, true>},
    {"aten::add_.Tensor", WithTensorInPlace<Plus, at::_ops::add__Tensor, true>},
    {"aten::sub_.Scalar", WithScalarInPlace<Minus, at::_ops::sub__Scalar, true>},
    {"aten::sub_.Tensor", WithTensorInPlace<Minus, at::_ops::sub__Tensor, true>},
    {"aten::mul_.Scalar", WithScalarInPlace<Times, at::_ops::mul__Scalar, false>},
    {"aten::mul_.Tensor", WithTensorInPlace<Times, at::_ops::mul__Tensor, false>},
    {"aten::div_.Scalar", WithScalarInPlace<Over, at::_ops::div__Scalar, false>},
    {"aten::div_.Tensor", WithTensorInPlace<Over, at::_ops::div__Tensor, false>},
    {"aten::relu_", ReluInPlace},
    {"aten::relu", Relu},
};

}  // namespace

std::span<const NativeEntry> SmallTensorNatives() { return kEntries; }

}  // namespace hearth::native
