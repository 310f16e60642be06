// The pieces of IR text below Graphs: marks, names, types, literals.
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

#include <charconv>
#include <limits>

#include "jit/ir/parser.h"
#include "jit/support/errors.h"

namespace hearth {
namespace {

constexpr int kMaxLiteralDepth = 100;

bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

TypePtr WithoutOptional(const TypePtr& type) {
  if (type == nullptr) return nullptr;
  if (auto optional = type->cast<c10::OptionalType>()) return optional->getElementType();
  return type;
}

TypePtr TypeOf(const c10::IValue& value) { return value.type(); }

}  // namespace

IrReader::IrReader(std::shared_ptr<const Source> source, const ParseOptions& options)
    : source_(std::move(source)), options_(options), text_(source_->text()) {}

void IrReader::SkipSpace() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '#' || text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

SourceRange IrReader::here() {
  SkipSpace();
  const auto at = static_cast<uint32_t>(at_);
  return {source_.get(), at, at};
}

void IrReader::FailAt(size_t begin, size_t end, const std::string& message) const {
  throw CompileError({source_.get(), static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, message);
}

void IrReader::Fail(const std::string& message) {
  SkipSpace();
  FailAt(at_, at_ + 1, message);
}

bool IrReader::AtEnd() {
  SkipSpace();
  return at_ == text_.size();
}

std::string_view IrReader::Peek() {
  SkipSpace();
  return text_.substr(at_);
}

bool IrReader::TryWord(std::string_view word) {
  SkipSpace();
  if (text_.substr(at_, word.size()) != word) return false;
  if (at_ + word.size() < text_.size() && IsNameChar(text_[at_ + word.size()])) return false;
  at_ += word.size();
  return true;
}

bool IrReader::TryMark(std::string_view mark) {
  SkipSpace();
  if (text_.substr(at_, mark.size()) != mark) return false;
  at_ += mark.size();
  return true;
}

void IrReader::ReadMark(std::string_view mark) {
  if (!TryMark(mark)) Fail("expected '" + std::string(mark) + "'");
}

std::string IrReader::ReadName() {
  SkipSpace();
  const size_t begin = at_;
  while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
  if (at_ == begin) Fail("expected a name");
  return std::string(text_.substr(begin, at_ - begin));
}

TypePtr IrReader::ReadType(std::string_view stops) {
  SkipSpace();
  const size_t begin = at_;
  int depth = 0;
  for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
    const char c = text_[at_];
    if (depth == 0 && stops.find(c) != std::string_view::npos) break;
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (depth < 0) break;
  }
  size_t end = at_;
  while (end > begin && (text_[end - 1] == ' ' || text_[end - 1] == '\t' || text_[end - 1] == '\r')) --end;
  if (end == begin) Fail("expected a type");
  try {
    return ParseType(
        text_.substr(begin, end - begin),
        options_.resolve_class ? options_.resolve_class : [](const std::string&) { return TypePtr(); });
  } catch (const TypeParseError& error) {
    FailAt(begin + std::min(error.offset, end - begin), end, error.message);
  }
}

c10::IValue IrReader::ReadLiteral(const TypePtr& type) { return ReadLiteral(type, 0); }

c10::IValue IrReader::ReadLiteral(const TypePtr& type, int depth) {
  if (depth > kMaxLiteralDepth) Fail("this constant is nested too deeply");
  SkipSpace();
  if (TryWord("None")) return {};
  if (TryWord("True")) return true;
  if (TryWord("False")) return false;
  if (TryWord("complex")) {
    ReadMark("(");
    const double real = ReadDouble();
    ReadMark(",");
    const double imaginary = ReadDouble();
    ReadMark(")");
    return c10::complex<double>(real, imaginary);
  }
  if (TryWord("device")) {
    ReadMark("(");
    const size_t begin = at_;
    const std::string name = ReadString();
    ReadMark(")");
    try {
      return c10::Device(name);
    } catch (const c10::Error&) {
      FailAt(begin, at_, "not a device: " + name);
    }
  }
  if (at_ == text_.size()) Fail("expected a constant");
  switch (text_[at_]) {
    case '"':
      return ReadString();
    case '[':
      return ReadList(WithoutOptional(type), depth);
    case '(':
      return ReadTuple(WithoutOptional(type), depth);
    case '{':
      return ReadDict(WithoutOptional(type), depth);
    case '<':
      return ReadPlaceholder();
    default:
      return ReadNumber(WithoutOptional(type));
  }
}

int64_t IrReader::ReadInt() {
  SkipSpace();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) Fail("this number does not fit an int");
  if (error != std::errc()) Fail("expected a number");
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

double IrReader::ReadDouble() {
  if (TryWord("nan")) return std::numeric_limits<double>::quiet_NaN();
  if (TryWord("inf")) return std::numeric_limits<double>::infinity();
  if (TryWord("-inf")) return -std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) Fail("this number does not fit a float");
  if (error != std::errc()) Fail("expected a number");
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

c10::IValue IrReader::ReadNumber(const TypePtr& type) {
  const size_t begin = at_;
  size_t end = begin;
  bool fraction = false;
  for (; end < text_.size() && (IsNameChar(text_[end]) || text_[end] == '-' || text_[end] == '+'); ++end) {
    fraction |= !std::isdigit(static_cast<unsigned char>(text_[end])) && !(end == begin && text_[end] == '-');
  }
  const bool wants_float = type != nullptr && type->kind() == c10::TypeKind::FloatType;
  if (fraction || wants_float) {
    const double value = ReadDouble();
    if (at_ != end) FailAt(begin, end, "not a number");
    return value;
  }
  return ReadInt();
}

std::string IrReader::ReadString() {
  SkipSpace();
  const size_t begin = at_;
  ReadMark("\"");
  std::string out;
  while (true) {
    if (at_ >= text_.size() || text_[at_] == '\n') FailAt(begin, at_, "this string does not end");
    const char c = text_[at_++];
    if (c == '"') return out;
    if (c != '\\') {
      out += c;
      continue;
    }
    const char escape = at_ < text_.size() ? text_[at_++] : '\0';
    if (escape == 'n') {
      out += '\n';
    } else if (escape == 't') {
      out += '\t';
    } else if (escape == 'r') {
      out += '\r';
    } else if (escape == '"' || escape == '\\') {
      out += escape;
    } else if (escape == 'x' && at_ + 1 < text_.size() && HexDigit(text_[at_]) >= 0 && HexDigit(text_[at_ + 1]) >= 0) {
      out += static_cast<char>(HexDigit(text_[at_]) * 16 + HexDigit(text_[at_ + 1]));
      at_ += 2;
    } else {
      FailAt(at_ - 1, at_, "not an escape");
    }
  }
}

c10::IValue IrReader::ReadList(const TypePtr& type, int depth) {
  const size_t begin = at_;
  ReadMark("[");
  TypePtr element_type;
  if (auto list_type = type ? type->cast<c10::ListType>() : nullptr) element_type = list_type->getElementType();
  std::vector<c10::IValue> elements;
  while (!TryMark("]")) {
    if (!elements.empty()) ReadMark(",");
    elements.push_back(ReadLiteral(element_type, depth + 1));
  }
  if (element_type == nullptr) {
    element_type = elements.empty() ? TypePtr(c10::TensorType::get()) : TypeOf(elements.front());
  }
  c10::impl::GenericList list(element_type);
  list.reserve(elements.size());
  for (c10::IValue& element : elements) {
    if (!TypeOf(element)->isSubtypeOf(*element_type)) {
      FailAt(begin, at_,
             "a list of " + element_type->annotation_str() + " cannot hold a " + TypeOf(element)->annotation_str());
    }
    list.push_back(std::move(element));
  }
  return list;
}

c10::IValue IrReader::ReadTuple(const TypePtr& type, int depth) {
  ReadMark("(");
  auto tuple_type = type ? type->cast<c10::TupleType>() : nullptr;
  std::vector<c10::IValue> elements;
  while (!TryMark(")")) {
    if (!elements.empty()) {
      ReadMark(",");
      if (TryMark(")")) break;
    }
    const size_t i = elements.size();
    const bool typed = tuple_type != nullptr && i < tuple_type->elements().size();
    elements.push_back(ReadLiteral(typed ? tuple_type->elements()[i] : nullptr, depth + 1));
  }
  if (tuple_type != nullptr && tuple_type->name() && tuple_type->elements().size() == elements.size()) {
    return c10::ivalue::Tuple::createNamed(std::move(elements), tuple_type);
  }
  return c10::ivalue::Tuple::create(std::move(elements));
}

c10::IValue IrReader::ReadDict(const TypePtr& type, int depth) {
  const size_t begin = at_;
  ReadMark("{");
  TypePtr key_type;
  TypePtr value_type;
  if (auto dict_type = type ? type->cast<c10::DictType>() : nullptr) {
    key_type = dict_type->getKeyType();
    value_type = dict_type->getValueType();
  }
  std::vector<std::pair<c10::IValue, c10::IValue>> entries;
  while (!TryMark("}")) {
    if (!entries.empty()) ReadMark(",");
    c10::IValue key = ReadLiteral(key_type, depth + 1);
    if (!key.isString() && !key.isInt() && !key.isDouble() && !key.isBool() && !key.isComplexDouble() &&
        !key.isDevice()) {
      FailAt(begin, at_, "a dict's keys are strings, numbers or devices");
    }
    ReadMark(":");
    entries.emplace_back(std::move(key), ReadLiteral(value_type, depth + 1));
  }
  if (key_type == nullptr) {
    key_type = entries.empty() ? TypePtr(c10::StringType::get()) : TypeOf(entries.front().first);
    value_type = entries.empty() ? TypePtr(c10::TensorType::get()) : TypeOf(entries.front().second);
  }
  c10::impl::GenericDict dict(key_type, value_type);
  for (auto& [key, value] : entries) {
    if (!TypeOf(key)->isSubtypeOf(*key_type) || !TypeOf(value)->isSubtypeOf(*value_type)) {
      FailAt(begin, at_, "the entries of this dict are not all of its type");
    }
    dict.insert_or_assign(std::move(key), std::move(value));
  }
  return dict;
}

c10::IValue IrReader::ReadPlaceholder() {
  const size_t begin = at_;
  const size_t end = text_.find_first_of(">\n", at_);
  if (end == std::string_view::npos || text_[end] != '>') FailAt(begin, begin + 1, "this '<' is not closed");
  at_ = end + 1;
  const std::string_view body = text_.substr(begin, end - begin);
  const size_t mark = body.rfind('#');
  size_t number = 0;
  if (options_.constants != nullptr && mark != std::string_view::npos &&
      std::from_chars(body.data() + mark + 1, body.data() + body.size(), number).ec == std::errc() &&
      number < options_.constants->size()) {
    return (*options_.constants)[number];
  }
  FailAt(begin, at_, "this constant is not in the text, and no table holds it");
}

}  // namespace hearth
