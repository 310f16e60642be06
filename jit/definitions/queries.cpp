// Questions about tensors that facts may answer.
#include "jit/definitions/definition_lists.h"
#include "jit/definitions/shared_rules.h"

namespace hearth {
namespace {

using c10::IValue;
using Answer = std::optional<IValue>;

Answer DtypeOf(const ValueFacts& tensor) {
  return tensor.dtype ? Answer(static_cast<int64_t>(*tensor.dtype)) : Answer();
}
Answer DeviceOf(const ValueFacts& tensor) { return tensor.device ? Answer(*tensor.device) : Answer(); }
Answer DeviceIndex(const ValueFacts& tensor) {
  return tensor.device ? Answer(static_cast<int64_t>(tensor.device->index())) : Answer();
}
template <c10::DeviceType kType>
Answer IsOn(const ValueFacts& tensor) {
  return tensor.device ? Answer(tensor.device->type() == kType) : Answer();
}
Answer LayoutOf(const ValueFacts& tensor) {
  return tensor.plain ? Answer(static_cast<int64_t>(c10::kStrided)) : Answer();
}
Answer RequiresGrad(const ValueFacts& tensor) {
  return tensor.requires_grad ? Answer(*tensor.requires_grad) : Answer();
}
Answer IsFloatingPoint(const ValueFacts& tensor) {
  return tensor.dtype ? Answer(c10::isFloatingType(*tensor.dtype)) : Answer();
}
Answer IsComplex(const ValueFacts& tensor) {
  return tensor.dtype ? Answer(c10::isComplexType(*tensor.dtype)) : Answer();
}
Answer ElementSize(const ValueFacts& tensor) {
  return tensor.dtype && tensor.plain ? Answer(static_cast<int64_t>(c10::elementSize(*tensor.dtype))) : Answer();
}
Answer IsContiguous(const ValueFacts& tensor) { return tensor.contiguous() ? Answer(true) : Answer(); }
// What plain tensors never are.
Answer NoIfPlain(const ValueFacts& tensor) { return tensor.plain ? Answer(false) : Answer(); }

using enum OperatorClass;

const OperatorDefinition kDefinitions[] = {
    {.name = "aten::dim", .kind = kTensorQuery, .number = number::Dim, .raises = Raises::kNotOnOneOperand},
    {.name = "aten::numel", .kind = kTensorQuery, .number = number::Numel, .raises = Raises::kNotOnOneOperand},
    {.name = "aten::is_contiguous", .kind = kTensorQuery, .answer = IsContiguous},
    {.name = "aten::is_floating_point",
     .kind = kTensorQuery,
     .answer = IsFloatingPoint,
     .raises = Raises::kNotOnOneOperand},
    {.name = "aten::is_complex", .kind = kTensorQuery, .answer = IsComplex, .raises = Raises::kNotOnOneOperand},
    {.name = "prim::dtype", .kind = kTensorQuery, .answer = DtypeOf, .raises = Raises::kNotOnOneOperand},
    {.name = "prim::device", .kind = kTensorQuery, .answer = DeviceOf, .raises = Raises::kNotOnOneOperand},
    {.name = "prim::layout", .kind = kTensorQuery, .answer = LayoutOf, .raises = Raises::kNotOnOneOperand},
    {.name = "prim::is_cuda", .kind = kTensorQuery, .answer = IsOn<c10::kCUDA>, .raises = Raises::kNotOnOneOperand},
    {.name = "prim::is_cpu", .kind = kTensorQuery, .answer = IsOn<c10::kCPU>},
    {.name = "prim::requires_grad", .answer = RequiresGrad},
    {.name = "prim::is_xpu", .kind = kTensorQuery, .answer = IsOn<c10::kXPU>},
    {.name = "prim::is_mps", .kind = kTensorQuery, .answer = IsOn<c10::kMPS>},
    {.name = "prim::is_meta", .kind = kTensorQuery, .answer = IsOn<c10::kMeta>},
    {.name = "aten::element_size", .kind = kTensorQuery, .answer = ElementSize},
    {.name = "aten::get_device", .kind = kTensorQuery, .answer = DeviceIndex},
    {.name = "prim::is_quantized", .kind = kTensorQuery, .answer = NoIfPlain},
    {.name = "prim::is_sparse", .kind = kTensorQuery, .answer = NoIfPlain},
    {.name = "prim::is_sparse_csr", .kind = kTensorQuery, .answer = NoIfPlain},
    {.name = "prim::is_mkldnn", .kind = kTensorQuery, .answer = NoIfPlain},
    {.name = "prim::is_nested", .kind = kTensorQuery, .answer = NoIfPlain},
    {.name = "aten::is_conj", .answer = NoIfPlain},
    {.name = "aten::is_neg", .answer = NoIfPlain},
};

}  // namespace

std::span<const OperatorDefinition> QueryDefinitions() { return kDefinitions; }

}  // namespace hearth
