#include "jit/interpreter/containers.h"

#include "jit/operators/native_support.h"
#include "jit/operators/value_parts.h"

namespace hearth {

c10::IValue MakeDict(const c10::Type& type, std::vector<c10::IValue> keys_and_values) {
  c10::impl::GenericDict dict(type.containedType(0), type.containedType(1));
  dict.reserve(keys_and_values.size() / 2);
  for (size_t i = 0; i + 1 < keys_and_values.size(); i += 2) {
    dict.insert_or_assign(std::move(keys_and_values[i]), std::move(keys_and_values[i + 1]));
  }
  return dict;
}

c10::IValue MakeObject(const c10::TypePtr& type) {
  const auto class_type = type->expect<c10::ClassType>();
  return c10::ivalue::Object::create(c10::StrongTypePtr(class_type->compilation_unit(), class_type),
                                     class_type->numAttributes());
}

bool IsInstance(const c10::IValue& value, std::span<const c10::TypePtr> types) {
  c10::TypePtr own;
  for (const c10::TypePtr& type : types) {
    switch (type->kind()) {
      case c10::TypeKind::TensorType:
        if (value.isTensor()) return true;
        break;
      case c10::TypeKind::IntType:
        if (value.isInt()) return true;
        break;
      case c10::TypeKind::FloatType:
        if (value.isDouble()) return true;
        break;
      case c10::TypeKind::BoolType:
        if (value.isBool()) return true;
        break;
      case c10::TypeKind::StringType:
        if (value.isString()) return true;
        break;
      case c10::TypeKind::NoneType:
        if (value.isNone()) return true;
        break;
      default:
        if (own == nullptr) {
          RequireFinite(value, "asked for its type");
          own = value.type();
        }
        if (own->isSubtypeOf(*type)) return true;
    }
  }
  return false;
}

namespace {

c10::IValue Number(const char* data, c10::ScalarType dtype, const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::IntType:
      return *reinterpret_cast<const int64_t*>(data);
    case c10::TypeKind::FloatType:
      return dtype == c10::kFloat ? static_cast<double>(*reinterpret_cast<const float*>(data))
                                  : *reinterpret_cast<const double*>(data);
    case c10::TypeKind::ComplexType:
      return dtype == c10::kComplexFloat ? c10::complex<double>(*reinterpret_cast<const c10::complex<float>*>(data))
                                         : *reinterpret_cast<const c10::complex<double>*>(data);
    default:
      return *reinterpret_cast<const bool*>(data);
  }
}

c10::IValue ListOf(const at::Tensor& tensor, const char* data, int64_t dimension, const c10::TypePtr& type) {
  const auto list_type = type->cast<c10::ListType>();
  if (list_type == nullptr) return Number(data, tensor.scalar_type(), *type);
  const c10::TypePtr& element = list_type->getElementType();
  const int64_t step = tensor.stride(dimension) * static_cast<int64_t>(tensor.element_size());
  std::vector<c10::IValue> elements;
  elements.reserve(static_cast<size_t>(tensor.size(dimension)));
  for (int64_t i = 0; i < tensor.size(dimension); ++i) {
    elements.push_back(ListOf(tensor, data + i * step, dimension + 1, element));
  }
  return native::MakeList(element, std::move(elements));
}

}  // namespace

c10::IValue TensorToList(const at::Tensor& tensor, const c10::TypePtr& type) {
  const at::Tensor on_cpu = tensor.cpu().resolve_conj().resolve_neg();
  c10::TypePtr number = type;
  int64_t depth = 0;
  while (const auto list = number->cast<c10::ListType>()) {
    number = list->getElementType();
    ++depth;
  }
  // A float's annotation takes float and double; an int's takes int only, as nothing is converted on the way.
  const c10::ScalarType dtype = on_cpu.scalar_type();
  const auto kind = number->kind();
  const bool fits = kind == c10::TypeKind::IntType       ? dtype == c10::kLong
                    : kind == c10::TypeKind::FloatType   ? dtype == c10::kFloat || dtype == c10::kDouble
                    : kind == c10::TypeKind::BoolType    ? dtype == c10::kBool
                    : kind == c10::TypeKind::ComplexType ? dtype == c10::kComplexFloat || dtype == c10::kComplexDouble
                                                         : false;
  // LibTorch's words, which take a complex for a bool.
  const c10::ScalarType expected = kind == c10::TypeKind::IntType     ? c10::kLong
                                   : kind == c10::TypeKind::FloatType ? c10::kFloat
                                                                      : c10::kBool;
  TORCH_CHECK(depth == on_cpu.dim(),
              "Output annotation list dimension and runtime tensor dimension must match for tolist()");
  TORCH_CHECK(fits,
              "Output annotation element type and runtime tensor element type must match for tolist(): ", expected,
              " vs ", dtype);
  return ListOf(on_cpu, static_cast<const char*>(on_cpu.const_data_ptr()), 0, type);
}

}  // namespace hearth
