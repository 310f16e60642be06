// What is asked of a tensor's description, and the ways between numbers and tensors.
#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>

#include <sstream>
#include <stdexcept>

#include "jit/operators/native_support.h"

namespace hearth::native {
namespace {

IValue IntList(c10::IntArrayRef numbers) {
  return MakeList(c10::IntType::get(), std::vector<IValue>(numbers.begin(), numbers.end()));
}

void Size(NativeArguments in, IValue* out) { *out = IntList(in[0].toTensor().sizes()); }
void SizeOfDimension(NativeArguments in, IValue* out) { *out = in[0].toTensor().size(in[1].toInt()); }
void Stride(NativeArguments in, IValue* out) { *out = IntList(in[0].toTensor().strides()); }
void Dim(NativeArguments in, IValue* out) { *out = in[0].toTensor().dim(); }
void Numel(NativeArguments in, IValue* out) { *out = in[0].toTensor().numel(); }
void Len(NativeArguments in, IValue* out) {
  const at::Tensor& tensor = in[0].toTensor();
  TORCH_CHECK(tensor.dim() > 0, "len() of a 0-d tensor");
  *out = tensor.size(0);
}

void Device(NativeArguments in, IValue* out) { *out = in[0].toTensor().device(); }
void Dtype(NativeArguments in, IValue* out) { *out = static_cast<int64_t>(in[0].toTensor().scalar_type()); }
void Layout(NativeArguments in, IValue* out) { *out = in[0].toTensor().layout(); }
void RequiresGrad(NativeArguments in, IValue* out) { *out = in[0].toTensor().requires_grad(); }
void IsContiguous(NativeArguments in, IValue* out) { *out = in[0].toTensor().is_contiguous(); }

bool Truth(const at::Tensor& tensor) { return tensor.is_nonzero(); }

// The implicit conversions that the compiler puts where a number is wanted and a tensor stands.
const at::Tensor& CheckedForNumber(const IValue& value, bool integral) {
  const at::Tensor& tensor = value.toTensor();
  if (tensor.requires_grad()) throw std::runtime_error("Cannot input a tensor that requires grad as a scalar argument");
  if (tensor.dim() != 0) {
    throw std::runtime_error("Cannot input a tensor of dimension other than 0 as a scalar argument");
  }
  if (integral && !c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/false)) {
    std::ostringstream message;
    message << "Cannot input a tensor of type " << tensor.scalar_type() << " as an integral argument";
    throw std::runtime_error(message.str());
  }
  return tensor;
}

void NumToTensor(NativeArguments in, IValue* out) { *out = at::scalar_to_tensor(in[0].toScalar()); }

constexpr NativeEntry kEntries[] = {
    {"aten::size", Size},
    {"aten::size.int", SizeOfDimension},
    {"aten::stride", Stride},
    {"aten::dim", Dim},
    {"aten::numel", Numel},
    {"aten::len.Tensor", Len},
    {"prim::device", Device},
    {"prim::dtype", Dtype},
    {"prim::layout", Layout},
    {"prim::requires_grad", RequiresGrad},
    {"aten::is_contiguous", IsContiguous},
    {"prim::is_cpu", [](NativeArguments in, IValue* out) { *out = in[0].toTensor().is_cpu(); }},
    {"prim::is_cuda", [](NativeArguments in, IValue* out) { *out = in[0].toTensor().is_cuda(); }},
    {"prim::is_nested", [](NativeArguments in, IValue* out) { *out = in[0].toTensor().is_nested(); }},
    {"prim::is_sparse", [](NativeArguments in, IValue* out) { *out = in[0].toTensor().is_sparse(); }},
    {"prim::is_quantized", [](NativeArguments in, IValue* out) { *out = in[0].toTensor().is_quantized(); }},
    {"aten::Bool.Tensor", [](NativeArguments in, IValue* out) { *out = Truth(in[0].toTensor()); }},
    {"aten::Int.Tensor", [](NativeArguments in, IValue* out) { *out = in[0].toTensor().item<int64_t>(); }},
    {"aten::Float.Tensor", [](NativeArguments in, IValue* out) { *out = in[0].toTensor().item<double>(); }},
    {"aten::IntImplicit",
     [](NativeArguments in, IValue* out) { *out = CheckedForNumber(in[0], true).item<int64_t>(); }},
    {"aten::FloatImplicit",
     [](NativeArguments in, IValue* out) { *out = CheckedForNumber(in[0], false).item<double>(); }},
    {"aten::ScalarImplicit", [](NativeArguments in, IValue* out) { *out = CheckedForNumber(in[0], false).item(); }},
    {"prim::NumToTensor.Scalar", NumToTensor},
    {"prim::NumToTensor.bool", NumToTensor},
};

}  // namespace

std::span<const NativeEntry> TensorQueryNatives() { return kEntries; }

}  // namespace hearth::native
