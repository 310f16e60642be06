#include "cli/json.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <cmath>
#include <cstdio>

#include "cli/tensor_facts.h"

namespace hearth::cli {
namespace {

Json NumberToJson(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  return number;
}

Json ComplexToJson(c10::complex<double> number) {
  return Json::array({NumberToJson(number.real()), NumberToJson(number.imag())});
}

// The double that prints as a float does: 0.1f is 0.1 and not 0.10000000149011612.
double AsPrinted(float number) { return std::isfinite(number) ? std::stod(NumberText(number)) : number; }

Json ElementToJson(const at::Tensor& element) {
  if (element.is_complex()) return ComplexToJson(element.item().toComplexDouble());
  if (element.scalar_type() == at::kBool) return element.item().toBool();
  if (element.scalar_type() == at::kDouble) return NumberToJson(element.item().toDouble());
  if (element.is_floating_point()) return NumberToJson(AsPrinted(static_cast<float>(element.item().toDouble())));
  if (element.scalar_type() == at::kUInt64) return *element.const_data_ptr<uint64_t>();
  return element.to(at::kLong).item().toLong();
}

Json FieldsToJson(const c10::ivalue::Object& object) {
  Json json = Json::object();
  for (size_t i = 0; i < object.type()->numAttributes(); ++i) {
    json[object.type()->getAttributeName(i)] = ValueToJson(object.getSlot(i));
  }
  return json;
}

Json TupleToJson(const c10::ivalue::Tuple& tuple, const c10::TupleType& type) {
  if (const auto& schema = type.schema()) {
    Json json = Json::object();
    for (size_t i = 0; i < tuple.size(); ++i) json[schema->arguments()[i].name()] = ValueToJson(tuple.elements()[i]);
    return json;
  }
  Json json = Json::array();
  for (const c10::IValue& element : tuple.elements()) json.push_back(ValueToJson(element));
  return json;
}

Json DictToJson(const c10::Dict<c10::IValue, c10::IValue>& dict) {
  bool all_strings = true;
  for (const auto& entry : dict) all_strings = all_strings && entry.key().isString();
  Json json = all_strings ? Json::object() : Json::array();
  for (const auto& entry : dict) {
    if (all_strings) {
      json[entry.key().toStringRef()] = ValueToJson(entry.value());
    } else {
      json.push_back(Json::array({ValueToJson(entry.key()), ValueToJson(entry.value())}));
    }
  }
  return json;
}

}  // namespace

Json TensorToJson(const at::Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  Json json = {{"dtype", DtypeName(tensor.scalar_type())},
               {"shape", std::vector<int64_t>(tensor.sizes().begin(), tensor.sizes().end())},
               {"device", tensor.device().str()}};
  if (const std::optional<TensorFacts> facts = FactsOf(tensor); facts && tensor.scalar_type() != at::kBool) {
    json["min"] = facts->min;
    json["max"] = facts->max;
    json["mean"] = facts->mean;
    if (facts->not_finite > 0) json["not_finite"] = facts->not_finite;
  }
  const std::optional<at::Tensor> dense = DenseOnCpu(tensor);
  if (dense && dense->numel() <= kMaxJsonElements) {
    Json values = Json::array();
    const at::Tensor flat = dense->view({-1});
    for (int64_t i = 0; i < flat.numel(); ++i) values.push_back(ElementToJson(flat.narrow(0, i, 1)));
    json["values"] = std::move(values);
  }
  return json;
}

Json ValueToJson(const c10::IValue& value) {
  if (value.isNone()) return nullptr;
  if (value.isTensor()) return TensorToJson(value.toTensor());
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return NumberToJson(value.toDouble());
  if (value.isComplexDouble()) return ComplexToJson(value.toComplexDouble());
  if (value.isString()) return value.toStringRef();
  if (value.isDevice()) return value.toDevice().str();
  if (value.isTuple()) return TupleToJson(value.toTupleRef(), *value.toTupleRef().type());
  if (value.isList()) {
    Json json = Json::array();
    for (const c10::IValue& element : value.toListRef()) json.push_back(ValueToJson(element));
    return json;
  }
  if (value.isGenericDict()) return DictToJson(value.toGenericDict());
  if (value.isEnum()) return ValueToJson(value.toEnumHolder()->value());
  if (value.isObject()) return FieldsToJson(value.toObjectRef());
  return value.type()->annotation_str();
}

void PrintJson(const Json& json) {
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
}

}  // namespace hearth::cli
