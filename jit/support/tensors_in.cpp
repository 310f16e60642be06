#include "jit/support/tensors_in.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

namespace hearth {
namespace {

using c10::IValue;
using Visit = std::function<void(const at::Tensor&, const at::Tensor&)>;

// Without == of IValue, which asks tensors for their elements.
bool IsSameScalar(const IValue& a, const IValue& b) {
  if (a.isNone()) return b.isNone();
  if (a.isInt()) return b.isInt() && a.toInt() == b.toInt();
  if (a.isBool()) return b.isBool() && a.toBool() == b.toBool();
  if (a.isDouble()) return b.isDouble() && a.toDouble() == b.toDouble();
  if (a.isString()) return b.isString() && a.toStringRef() == b.toStringRef();
  if (a.isDevice()) return b.isDevice() && a.toDevice() == b.toDevice();
  return false;
}

bool VisitAll(c10::ArrayRef<IValue> a, c10::ArrayRef<IValue> b, const Visit& visit) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!VisitPairs(a[i], b[i], visit)) return false;
  }
  return true;
}

bool VisitDicts(const c10::impl::GenericDict& a, const c10::impl::GenericDict& b, const Visit& visit) {
  if (a.size() != b.size()) return false;
  for (auto of_a = a.begin(), of_b = b.begin(); of_a != a.end(); ++of_a, ++of_b) {
    if (!IsSameScalar(of_a->key(), of_b->key()) || !VisitPairs(of_a->value(), of_b->value(), visit)) return false;
  }
  return true;
}

}  // namespace

IValue MapTensors(const IValue& value, const std::function<at::Tensor(const at::Tensor&)>& map) {
  if (value.isTensor()) return map(value.toTensor());
  if (value.isList()) {
    const c10::List<IValue> list = value.toList();
    c10::impl::GenericList mapped(list.elementType());
    mapped.reserve(list.size());
    for (const IValue& element : list) mapped.push_back(MapTensors(element, map));
    return mapped;
  }
  if (value.isTuple()) {
    std::vector<IValue> elements;
    for (const IValue& element : value.toTupleRef().elements()) elements.push_back(MapTensors(element, map));
    return c10::ivalue::Tuple::createNamed(std::move(elements), value.toTupleRef().type());
  }
  if (value.isGenericDict()) {
    const c10::impl::GenericDict dict = value.toGenericDict();
    c10::impl::GenericDict mapped(dict.keyType(), dict.valueType());
    for (const auto& entry : dict) mapped.insert(MapTensors(entry.key(), map), MapTensors(entry.value(), map));
    return mapped;
  }
  return value;
}

bool VisitPairs(const IValue& a, const IValue& b, const Visit& visit) {
  if (a.isTensor() && b.isTensor()) {
    visit(a.toTensor(), b.toTensor());
    return true;
  }
  if (a.isTuple() && b.isTuple()) {
    return VisitAll(a.toTupleRef().elements(), b.toTupleRef().elements(), visit);
  }
  if (a.isList() && b.isList()) {
    const c10::List<IValue> of_a = a.toList(), of_b = b.toList();
    return VisitAll(of_a.vec(), of_b.vec(), visit);
  }
  if (a.isGenericDict() && b.isGenericDict()) return VisitDicts(a.toGenericDict(), b.toGenericDict(), visit);
  return IsSameScalar(a, b);
}

}  // namespace hearth
