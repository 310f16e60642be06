#include "jit/tools/example_arguments.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <cctype>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "jit/analysis/exact_shape.h"

namespace hearth {
namespace {

using c10::IValue;

class ExampleReader {
 public:
  ExampleReader(std::string_view text, const c10::intrusive_ptr<c10::ivalue::Object>& self)
      : text_(text), rest_(text), self_(self) {}

  IValue ReadAll() {
    IValue value = Read();
    if (!rest_.empty()) Fail();
    return value;
  }

 private:
  [[noreturn]] void Fail() const { throw std::runtime_error("not an argument: " + std::string(text_)); }

  bool Try(std::string_view mark) {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    if (!rest_.starts_with(mark)) return false;
    rest_.remove_prefix(mark.size());
    return true;
  }

  std::string_view Word() {
    size_t length = 0;
    while (length < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[length])) || rest_[length] == '_'))
      ++length;
    const std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return word;
  }

  int64_t Number() {
    Try("");
    const std::string word(Word());
    if (word.empty() || !std::isdigit(static_cast<unsigned char>(word.front()))) Fail();
    return std::stoll(word);
  }

  std::vector<IValue> Elements(std::string_view end) {
    std::vector<IValue> elements;
    while (!Try(end)) {
      if (!elements.empty() && !Try(",")) Fail();
      Try("");
      elements.push_back(Read());
    }
    return elements;
  }

  IValue Read() {
    if (Try("(")) return c10::ivalue::Tuple::create(Elements(")"));
    if (Try("[")) {
      c10::List<at::Tensor> list;
      for (const IValue& element : Elements("]")) list.push_back(element.toTensor());
      return list;
    }
    if (Try("'")) {
      const std::string_view text = rest_.substr(0, rest_.find('\''));
      rest_.remove_prefix(text.size());
      if (!Try("'")) Fail();
      return std::string(text);
    }
    if (!rest_.empty() && (std::isdigit(static_cast<unsigned char>(rest_.front())) || rest_.front() == '-')) {
      const bool negative = Try("-");
      return negative ? -Number() : Number();
    }
    const std::string_view word = Word();
    if (word == "None") return {};
    if (word == "True" || word == "False") return word == "True";
    if (word == "int") return 3;
    if (word == "float") return 3.0;
    if (word == "bool") return true;
    if (word == "str") return "text";
    if (word == "self" && self_ != nullptr) return self_;
    if (word == "ints" && Try(":")) return std::vector<int64_t>(static_cast<size_t>(Number()), 3);
    return ReadTensor(word);
  }

  at::Tensor ReadTensor(std::string_view word) {
    for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
      const auto dtype = static_cast<c10::ScalarType>(i);
      if (word != c10::toString(dtype)) continue;
      if (!Try("[")) Fail();
      std::vector<int64_t> sizes;
      while (!Try("]")) {
        if (!sizes.empty() && !Try(",")) Fail();
        sizes.push_back(Number());
      }
      at::Tensor tensor = at::zeros(sizes, dtype);
      if (Try(":channels_last")) tensor = tensor.contiguous(at::MemoryFormat::ChannelsLast);
      if (Try(":requires_grad")) tensor.requires_grad_();
      return tensor;
    }
    Fail();
  }

  std::string_view text_;
  std::string_view rest_;
  const c10::intrusive_ptr<c10::ivalue::Object>& self_;
};

}  // namespace

namespace {

std::vector<IValue> ReadExamples(std::span<const std::string> texts,
                                 const c10::intrusive_ptr<c10::ivalue::Object>& self) {
  std::vector<IValue> arguments;
  for (const std::string& text : texts) arguments.push_back(ExampleReader(text, self).ReadAll());
  return arguments;
}

}  // namespace

std::vector<ArgumentFacts> FactsOfExamples(std::span<const std::string> texts,
                                           const c10::intrusive_ptr<c10::ivalue::Object>& self, ExampleSizes sizes) {
  const std::vector<IValue> arguments = ReadExamples(texts, self);
  std::vector<ArgumentFacts> facts = ArgumentSpec::Of(arguments).value().Facts();
  const std::optional<ExactShape> shape = ExactShape::Of(arguments);
  if (shape && sizes == ExampleSizes::kExact) shape->AddTo(facts);
  if (shape && sizes == ExampleSizes::kLikely) shape->AddAsLikelyTo(facts);
  return facts;
}

ExampleProfile::ExampleProfile(std::span<const std::string> texts, const Graph& graph) {
  std::unordered_map<std::string, std::pair<size_t, size_t>> named;  // number and id
  const std::vector<Value*> values = ValuesInOrder(graph);
  for (size_t i = 0; i < values.size(); ++i) named.emplace(values[i]->name(), std::pair(i, values[i]->id()));
  for (const std::string& text : texts) {
    const size_t equals = text.find('='), times = text.rfind('*');
    const auto found = named.find(text.substr(0, equals));
    if (equals == std::string::npos || times == std::string::npos || found == named.end()) {
      throw std::runtime_error("expected NAME=VALUE*RUNS with the name of a value of the graph, found " + text);
    }
    const IValue value =
        ExampleReader(std::string_view(text).substr(equals + 1, times - equals - 1), nullptr).ReadAll();
    const auto [number, id] = found->second;
    ValueObservation& seen = seen_[number];
    for (int64_t runs = std::stoll(text.substr(times + 1)); runs > 0; --runs) {
      ValueObservation once;
      once.Add(value, seen.runs);
      seen.Join(once);
    }
    claims_.values[id] = {.number = number, .seen = &seen};
  }
}

}  // namespace hearth
