#include "jit/ir/printer.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/function.h>
#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include <charconv>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

// Gives every value its name in the text.
class ValueNames {
 public:
  explicit ValueNames(const Graph& graph) : names_(graph.value_id_bound()) { NameBlock(*graph.block()); }

  const std::string& Of(const Value* value) {
    // A value that no block of the graph defines: the text of a broken graph should still come out.
    if (value->id() >= names_.size()) names_.resize(value->id() + 1);
    std::string& name = names_[value->id()];
    if (name.empty()) Choose(*value, &name);
    return name;
  }

 private:
  void NameBlock(const Block& block) {
    for (const Value* param : block.params()) Of(param);
    for (const Node* node : block) {
      for (const Value* output : node->outputs()) Of(output);
      for (const Block* nested : node->blocks()) NameBlock(*nested);
    }
  }

  void Choose(const Value& value, std::string* out) {
    std::string name = value.name();
    for (char& c : name) {
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') c = '_';
    }
    if (name.empty()) {
      *out = std::to_string(next_number_++);
      return;
    }
    // A name of digits alone would be taken for a number of ours.
    if (std::isdigit(static_cast<unsigned char>(name[0])) || name[0] == '.') name.insert(name.begin(), '_');
    if (taken_.insert(name).second) {
      *out = std::move(name);
      return;
    }
    size_t& suffix = next_suffix_[name];
    std::string candidate;
    do {
      candidate = name + "." + std::to_string(++suffix);
    } while (!taken_.insert(candidate).second);
    *out = std::move(candidate);
  }

  std::vector<std::string> names_;  // by value id
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, size_t> next_suffix_;
  size_t next_number_ = 0;
};

void AppendDouble(std::string* out, double value) {
  if (!std::isfinite(value)) {
    *out += std::isnan(value) ? "nan" : (value < 0 ? "-inf" : "inf");
    return;
  }
  char buffer[40];
  const char* end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  const std::string_view digits(buffer, static_cast<size_t>(end - buffer));
  out->append(digits);
  if (digits.find_first_of(".e") == std::string_view::npos) *out += ".0";
}

class Printer {
 public:
  Printer(const Graph& graph, const PrintOptions& options) : options_(options), names_(graph) {}

  std::string Print(const Graph& graph) {
    out_ = "graph(";
    PrintDefinitions(graph.inputs());
    out_ += "):\n";
    for (const Node* node : *graph.block()) PrintNode(*node, 1);
    out_ += "  return ";
    PrintUses(graph.outputs());
    out_ += '\n';
    return std::move(out_);
  }

  std::string PrintOne(const Node& node) {
    PrintHead(node);
    return std::move(out_);
  }

 private:
  void Indent(size_t depth) { out_.append(2 * depth, ' '); }

  void PrintDefinitions(std::span<Value* const> values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i != 0) out_ += ", ";
      out_ += '%';
      out_ += names_.Of(values[i]);
      out_ += " : ";
      out_ += values[i]->type() ? values[i]->type()->annotation_str() : "?";
    }
  }

  void PrintUses(std::span<Value* const> values) {
    out_ += '(';
    for (size_t i = 0; i < values.size(); ++i) {
      if (i != 0) out_ += ", ";
      out_ += '%';
      out_ += names_.Of(values[i]);
    }
    out_ += ')';
  }

  void PrintNode(const Node& node, size_t depth) {
    Indent(depth);
    PrintHead(node);
    if (options_.ranges) PrintRange(node.range());
    out_ += '\n';
    for (size_t i = 0; i < node.blocks().size(); ++i) {
      const Block& block = *node.block(i);
      Indent(depth + 1);
      out_ += "block" + std::to_string(i) + "(";
      PrintDefinitions(block.params());
      out_ += "):\n";
      for (const Node* nested : block) PrintNode(*nested, depth + 2);
      Indent(depth + 2);
      out_ += "-> ";
      PrintUses(block.returns());
      out_ += '\n';
    }
  }

  void PrintHead(const Node& node) {
    if (!node.outputs().empty()) {
      PrintDefinitions(node.outputs());
      out_ += " = ";
    }
    out_ += node.kind().toQualString();
    if (node.op() != nullptr && !node.op()->schema().overload_name().empty()) {
      out_ += '.';
      out_ += node.op()->schema().overload_name();
    }
    PrintAttributes(node);
    PrintUses(node.inputs());
  }

  void PrintRange(const SourceRange& range) {
    if (range.source == nullptr) return;
    const Source::Position position = range.source->PositionOf(range.begin);
    out_ += "  # " + range.source->name() + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
  }

  void PrintAttributes(const Node& node) {
    bool first = true;
    for (const auto& [name, value] : node.attributes()) {
      if (name == sym::kInstanceAttr || name == sym::kSlotAttr) continue;
      out_ += first ? "[" : ", ";
      first = false;
      out_ += name.toUnqualString();
      out_ += '=';
      PrintAttribute(value);
    }
    if (!first) out_ += ']';
  }

  void PrintAttribute(const Attribute& attribute) {
    if (const auto* number = std::get_if<int64_t>(&attribute)) {
      out_ += std::to_string(*number);
    } else if (const auto* text = std::get_if<std::string>(&attribute)) {
      out_ += QuoteString(*text);
    } else if (const auto* value = std::get_if<c10::IValue>(&attribute)) {
      PrintLiteral(*value);
    } else if (const auto* type = std::get_if<TypePtr>(&attribute)) {
      out_ += ':' + (*type)->annotation_str();
    } else if (const auto* types = std::get_if<std::vector<TypePtr>>(&attribute)) {
      out_ += '[';
      for (size_t i = 0; i < types->size(); ++i) {
        if (i != 0) out_ += ", ";
        out_ += (*types)[i]->annotation_str();
      }
      out_ += ']';
    } else {
      out_ += '@' + std::get<torch::jit::Function*>(attribute)->qualname().qualifiedName();
    }
  }

  template <typename Sequence>
  void PrintElements(const Sequence& elements) {
    bool first = true;
    for (const c10::IValue& element : elements) {
      if (!first) out_ += ", ";
      first = false;
      PrintLiteral(element);
    }
  }

  void PrintLiteral(const c10::IValue& value) {
    if (value.isNone()) {
      out_ += "None";
    } else if (value.isBool()) {
      out_ += value.toBool() ? "True" : "False";
    } else if (value.isInt()) {
      out_ += std::to_string(value.toInt());
    } else if (value.isDouble()) {
      AppendDouble(&out_, value.toDouble());
    } else if (value.isComplexDouble()) {
      out_ += "complex(";
      AppendDouble(&out_, value.toComplexDouble().real());
      out_ += ", ";
      AppendDouble(&out_, value.toComplexDouble().imag());
      out_ += ')';
    } else if (value.isString()) {
      out_ += QuoteString(value.toStringRef());
    } else if (value.isDevice()) {
      out_ += "device(" + QuoteString(value.toDevice().str()) + ")";
    } else if (value.isList()) {
      out_ += '[';
      PrintElements(value.toListRef());
      out_ += ']';
    } else if (value.isTuple()) {
      out_ += '(';
      PrintElements(value.toTupleRef().elements());
      out_ += value.toTupleRef().elements().size() == 1 ? ",)" : ")";
    } else if (value.isGenericDict()) {
      PrintDict(value.toGenericDict());
    } else {
      PrintPlaceholder(value);
    }
  }

  void PrintDict(const c10::impl::GenericDict& dict) {
    out_ += '{';
    bool first = true;
    for (const auto& entry : dict) {
      if (!first) out_ += ", ";
      first = false;
      PrintLiteral(entry.key());
      out_ += ": ";
      PrintLiteral(entry.value());
    }
    out_ += '}';
  }

  void PrintPlaceholder(const c10::IValue& value) {
    out_ += '<';
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      out_ += "Tensor ";
      if (!tensor.defined()) {
        out_ += "undefined";
      } else {
        out_ += c10::getDtypeNames(tensor.scalar_type()).first + " [";
        for (int64_t i = 0; i < tensor.dim(); ++i) out_ += (i == 0 ? "" : ", ") + std::to_string(tensor.size(i));
        out_ += ']';
      }
    } else if (value.isObject()) {
      out_ += "object " + value.toObjectRef().name();
    } else if (value.isEnum()) {
      out_ += "enum " + value.toEnumHolder()->qualifiedClassName() + "." + value.toEnumHolder()->name();
    } else {
      out_ += value.tagKind();
    }
    out_ += " #" + std::to_string(NumberOf(value)) + ">";
  }

  size_t NumberOf(const c10::IValue& value) {
    const void* identity = value.isPtrType() ? value.internalToPointer() : nullptr;
    if (identity != nullptr) {
      auto [found, is_new] = numbers_.emplace(identity, next_constant_);
      if (!is_new) return found->second;
    }
    if (options_.constants != nullptr) options_.constants->push_back(value);
    return next_constant_++;
  }

  const PrintOptions& options_;
  ValueNames names_;
  std::unordered_map<const void*, size_t> numbers_;
  size_t next_constant_ = 0;
  std::string out_;
};

}  // namespace

std::string QuoteString(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string PrintGraph(const Graph& graph, const PrintOptions& options) { return Printer(graph, options).Print(graph); }

std::string PrintNode(const Node& node) { return Printer(*node.graph(), PrintOptions()).PrintOne(node); }

}  // namespace hearth
