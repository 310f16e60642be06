#include "cli/value_summary.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cli/failure.h"
#include "cli/tensor_facts.h"

namespace hearth::cli {
namespace {

constexpr int64_t kMaxElementsShown = 8;
constexpr size_t kMaxTextShown = 100;

class Summary {
 public:
  void Add(const std::string& path, const c10::IValue& value) {
    if (value.isTensor()) {
      AddRow(path, TensorTypeText(value.toTensor()), TensorContentText(value.toTensor()));
    } else if (value.isTuple()) {
      AddTuple(path, value.toTupleRef());
    } else if (value.isList()) {
      const auto elements = value.toListRef();
      if (elements.empty()) AddRow(path, value.type()->annotation_str(), "empty");
      for (size_t i = 0; i < elements.size(); ++i) Add(Under(path, std::to_string(i)), elements[i]);
    } else if (value.isGenericDict()) {
      const auto dict = value.toGenericDict();
      if (dict.empty()) AddRow(path, value.type()->annotation_str(), "empty");
      for (const auto& entry : dict) Add(Under(path, KeyText(entry.key())), entry.value());
    } else if (value.isObject()) {
      AddObject(path, value.toObjectRef());
    } else {
      AddRow(path, ScalarType(value), ScalarText(value));
    }
  }

  std::string Text() const { return AlignColumns(rows_); }

 private:
  static std::string Under(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
  }

  static std::string KeyText(const c10::IValue& key) {
    return key.isString() ? EscapeLine(key.toStringRef()) : key.isTensor() ? "tensor" : ScalarText(key);
  }

  static std::string ScalarType(const c10::IValue& value) {
    return value.isNone() ? "None" : value.type()->annotation_str();
  }

  static std::string ScalarText(const c10::IValue& value) {
    if (value.isNone()) return "";
    if (value.isDouble()) return NumberText(value.toDouble());
    if (value.isBool()) return value.toBool() ? "True" : "False";
    if (value.isInt()) return std::to_string(value.toInt());
    if (value.isString()) {
      std::string text = "\"" + EscapeLine(value.toStringRef()) + "\"";
      if (text.size() > kMaxTextShown) text = text.substr(0, kMaxTextShown) + "...";
      return text;
    }
    if (value.isEnum()) return value.toEnumHolder()->name();
    std::ostringstream text;
    text << value;
    return EscapeLine(text.str());
  }

  void AddTuple(const std::string& path, const c10::ivalue::Tuple& tuple) {
    const auto& schema = tuple.type()->schema();
    if (tuple.size() == 0) AddRow(path, "Tuple[()]", "empty");
    for (size_t i = 0; i < tuple.size(); ++i) {
      Add(Under(path, schema ? schema->arguments()[i].name() : std::to_string(i)), tuple.elements()[i]);
    }
  }

  void AddObject(const std::string& path, const c10::ivalue::Object& object) {
    const auto type = object.type();
    if (type->numAttributes() == 0) AddRow(path, type->annotation_str(), "");
    for (size_t i = 0; i < type->numAttributes(); ++i) {
      Add(Under(path, type->getAttributeName(i)), object.getSlot(i));
    }
  }

  void AddRow(const std::string& path, std::string type, std::string content) {
    rows_.push_back({path.empty() ? "result" : path, std::move(type), std::move(content)});
  }

  std::vector<std::vector<std::string>> rows_;
};

std::string FixedText(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

}  // namespace

std::string TensorTypeText(const at::Tensor& tensor) {
  if (!tensor.defined()) return "Tensor";
  std::string text = DtypeName(tensor.scalar_type()) + " " + ShapeText(tensor.sizes());
  if (!tensor.is_cpu()) text += " " + tensor.device().str();
  return text;
}

std::string TensorContentText(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  const std::optional<at::Tensor> dense = DenseOnCpu(tensor);
  if (!dense) return tensor.is_meta() ? "no values" : "values that are no numbers";
  if (dense->numel() == 0) return "empty";
  if (dense->numel() <= kMaxElementsShown) {
    std::string text;
    for (int64_t i = 0; i < dense->numel(); ++i) text += (i > 0 ? ", " : "") + ElementText(*dense, i);
    return dense->dim() == 0 ? text : "[" + text + "]";
  }
  const std::optional<TensorFacts> facts = FactsOf(tensor);
  if (!facts) return "";
  std::string text =
      "min " + FixedText(facts->min) + "  max " + FixedText(facts->max) + "  mean " + FixedText(facts->mean);
  if (facts->not_finite > 0) text += "  not finite " + std::to_string(facts->not_finite);
  return text;
}

std::string AlignColumns(const std::vector<std::vector<std::string>>& rows, size_t indent) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string SummarizeValue(const c10::IValue& value) {
  Summary summary;
  summary.Add("", value);
  return summary.Text();
}

}  // namespace hearth::cli
