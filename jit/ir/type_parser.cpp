#include "jit/ir/type_parser.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/ir/type_size.h"

namespace hearth {
namespace {

using c10::TypePtr;

constexpr int kMaxDepth = 64;
constexpr size_t kMaxUnionMembers = 100;

const std::unordered_map<std::string_view, TypePtr>& SimpleTypes() {
  static const auto* const types = new std::unordered_map<std::string_view, TypePtr>{
      {"Tensor", c10::TensorType::get()},
      {"int", c10::IntType::get()},
      {"float", c10::FloatType::get()},
      {"bool", c10::BoolType::get()},
      {"complex", c10::ComplexType::get()},
      {"str", c10::StringType::get()},
      {"number", c10::NumberType::get()},
      {"Scalar", c10::NumberType::get()},
      {"Device", c10::DeviceObjType::get()},
      {"Stream", c10::StreamObjType::get()},
      {"Generator", c10::GeneratorType::get()},
      {"Capsule", c10::CapsuleType::get()},
      {"QScheme", c10::QSchemeType::get()},
      {"Quantizer", c10::QuantizerType::get()},
      {"NoneType", c10::NoneType::get()},
      {"None", c10::NoneType::get()},
      {"Any", c10::AnyType::get()},
      {"list", c10::AnyListType::get()},
      {"tuple", c10::AnyTupleType::get()},
      {"AnyClassType", c10::AnyClassType::get()},
      {"AnyEnumType", c10::AnyEnumType::get()},
      {"Dtype", c10::IntType::get()},
      {"torch.Tensor", c10::TensorType::get()},
      {"torch.device", c10::DeviceObjType::get()},
      {"torch.dtype", c10::IntType::get()},
      {"torch.layout", c10::IntType::get()},
      {"torch.memory_format", c10::IntType::get()},
      {"torch.Generator", c10::GeneratorType::get()},
      {"torch.FloatTensor", c10::TensorType::get()},
      {"torch.DoubleTensor", c10::TensorType::get()},
      {"torch.HalfTensor", c10::TensorType::get()},
      {"torch.BFloat16Tensor", c10::TensorType::get()},
      {"torch.LongTensor", c10::TensorType::get()},
      {"torch.IntTensor", c10::TensorType::get()},
      {"torch.ShortTensor", c10::TensorType::get()},
      {"torch.CharTensor", c10::TensorType::get()},
      {"torch.ByteTensor", c10::TensorType::get()},
      {"torch.BoolTensor", c10::TensorType::get()},
  };
  return *types;
}

enum class Container { kOptional, kUnion, kList, kDict, kTuple, kFuture, kAwait, kRRef, kFinal };

// The container that a subscripted name means. Names may come from Python's typing module.
const Container* FindContainer(std::string_view name) {
  static const auto* const containers = new std::unordered_map<std::string_view, Container>{
      {"Optional", Container::kOptional}, {"Union", Container::kUnion}, {"List", Container::kList},
      {"list", Container::kList},         {"Dict", Container::kDict},   {"dict", Container::kDict},
      {"Tuple", Container::kTuple},       {"tuple", Container::kTuple}, {"Future", Container::kFuture},
      {"Await", Container::kAwait},       {"RRef", Container::kRRef},   {"Final", Container::kFinal}};
  for (const std::string_view prefix : {"typing.", "torch.jit.", "torch.futures.", "torch."}) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  const auto found = containers->find(name);
  return found == containers->end() ? nullptr : &found->second;
}

class Parser {
 public:
  Parser(std::string_view text, const ClassResolver& resolve_class) : text_(text), resolve_class_(resolve_class) {}

  TypePtr ParseAll() {
    TypePtr type = ParseType();
    SkipSpace();
    if (at_ != text_.size()) Fail("expected the end of the type");
    return type;
  }

 private:
  [[noreturn]] void Fail(const std::string& message) const {
    std::string found = at_ < text_.size() ? std::string("'") + text_[at_] + "'" : std::string("the end");
    throw TypeParseError{at_, message + " but found " + found};
  }

  void SkipSpace() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c)) || c == '\\') {
        ++at_;
      } else {
        return;
      }
    }
  }

  bool Accept(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void Expect(char c) {
    if (!Accept(c)) Fail(std::string("expected '") + c + "'");
  }

  static bool IsNameByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

  // type := term ('|' term)*
  TypePtr ParseType() {
    if (++depth_ > kMaxDepth) Fail("the type is nested too deeply");
    TypePtr type = ParseTerm();
    if (Accept('|')) {
      std::vector<TypePtr> members{std::move(type)};
      do {
        members.push_back(ParseTerm());
      } while (Accept('|'));
      type = MakeUnion(members);
    }
    --depth_;
    return type;
  }

  TypePtr ParseTerm() {
    SkipSpace();
    if (Accept('(')) {
      TypePtr type = ParseType();
      Expect(')');
      return type;
    }
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      const char quote = text_[at_++];
      TypePtr type = ParseType();
      Expect(quote);
      return type;
    }
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameByte(text_[at_])) ++at_;
    if (at_ == begin) Fail("expected a type");
    const std::string_view name = text_.substr(begin, at_ - begin);
    SkipSpace();
    if (at_ < text_.size() && text_[at_] == '[') {
      if (const Container* container = FindContainer(name)) return ParseContainer(*container, name);
      if (name.starts_with("BroadcastingList")) return ParseContainer(Container::kList, name);
      at_ = begin;
      throw TypeParseError{begin, "'" + std::string(name) + "' is not a type that takes parameters"};
    }
    const auto& simple = SimpleTypes();
    if (const auto found = simple.find(name); found != simple.end()) return found->second;
    if (resolve_class_) {
      if (TypePtr type = resolve_class_(std::string(name))) return type;
    }
    throw TypeParseError{begin, "unknown type name '" + std::string(name) + "'"};
  }

  TypePtr ParseContainer(Container container, std::string_view name) {
    const size_t begin = at_;
    std::vector<TypePtr> parameters = ParseParameters(container == Container::kTuple);
    const auto require = [&](size_t count) {
      if (parameters.size() != count) {
        throw TypeParseError{begin, "'" + std::string(name) + "' takes " + std::to_string(count) +
                                        " type parameters but " + std::to_string(parameters.size()) + " were given"};
      }
    };
    switch (container) {
      case Container::kUnion:
        return MakeUnion(parameters);
      case Container::kTuple:
        return c10::TupleType::create(std::move(parameters));
      case Container::kDict:
        require(2);
        return MakeDict(begin, std::move(parameters[0]), std::move(parameters[1]));
      default:
        break;
    }
    require(1);
    TypePtr& element = parameters.front();
    switch (container) {
      case Container::kOptional:
        return element->kind() == c10::TypeKind::UnionType ? c10::OptionalType::create(element)
                                                           : MakeUnion({std::move(element), c10::NoneType::get()});
      case Container::kList:
        return c10::ListType::create(std::move(element));
      case Container::kFuture:
        return c10::FutureType::create(std::move(element));
      case Container::kAwait:
        return c10::AwaitType::create(std::move(element));
      case Container::kRRef:
        return c10::RRefType::create(std::move(element));
      default:
        return element;  // Final[T] is a T
    }
  }

  // '[' type (',' type)* ','? ']', or for a tuple '[()]'.
  std::vector<TypePtr> ParseParameters(bool may_be_empty) {
    Expect('[');
    std::vector<TypePtr> parameters;
    if (may_be_empty) {
      const size_t begin = at_;
      if (Accept('(') && Accept(')')) {
        Expect(']');
        return parameters;
      }
      at_ = begin;
    }
    do {
      SkipSpace();
      if (!parameters.empty() && at_ < text_.size() && text_[at_] == ']') break;
      parameters.push_back(ParseType());
    } while (Accept(','));
    Expect(']');
    return parameters;
  }

  static void Flatten(const TypePtr& type, std::vector<TypePtr>* members) {
    if (type->kind() != c10::TypeKind::UnionType && type->kind() != c10::TypeKind::OptionalType) {
      members->push_back(type);
      return;
    }
    for (const TypePtr& member : type->containedTypes()) Flatten(member, members);
    if (type->kind() == c10::TypeKind::OptionalType) members->push_back(c10::NoneType::get());
  }

  // The members of all, without those that another one covers; int, float and complex together are number.
  // LibTorch takes a union of one type, written twice, for a bug of its own.
  std::vector<TypePtr> Members(const std::vector<TypePtr>& written) const {
    std::vector<TypePtr> all;
    for (const TypePtr& type : written) Flatten(type, &all);
    std::vector<TypePtr> kept;
    const auto add = [&](const TypePtr& type) {
      const auto covers = [&](const TypePtr& other) { return type->isSubtypeOf(*other); };
      if (std::any_of(kept.begin(), kept.end(), covers)) return;
      std::erase_if(kept, [&](const TypePtr& other) { return other->isSubtypeOf(*type); });
      kept.push_back(type);
    };
    for (const TypePtr& type : all) {
      add(type);
      if (kept.size() > kMaxUnionMembers) throw TypeParseError{at_, "this union has too many members"};
    }
    const auto has = [&](c10::TypeKind kind) {
      return std::any_of(kept.begin(), kept.end(), [&](const TypePtr& type) { return type->kind() == kind; });
    };
    if (has(c10::TypeKind::IntType) && has(c10::TypeKind::FloatType) && has(c10::TypeKind::ComplexType)) {
      add(c10::NumberType::get());
    }
    return kept;
  }

  // The normal form: a union with None and one other type is an Optional, one member is that member.
  TypePtr MakeUnion(const std::vector<TypePtr>& written) {
    for (const TypePtr& type : written) {
      if (TypeFits(*type, kLargestUnionMember)) continue;
      throw TypeParseError{at_, "a member of a union may have " + std::to_string(kLargestUnionMember) +
                                    " parts when it is written out; this one has more"};
    }
    std::vector<TypePtr> members = Members(written);
    if (members.size() == 1) return members.front();
    if (members.size() == 2) {
      const bool first_is_none = members[0]->kind() == c10::TypeKind::NoneType;
      const bool second_is_none = members[1]->kind() == c10::TypeKind::NoneType;
      if (first_is_none && second_is_none) return members[0];
      if (first_is_none || second_is_none) {
        TypePtr& element = first_is_none ? members[1] : members[0];
        if (element->kind() == c10::TypeKind::OptionalType) return element;
        if (element->kind() == c10::TypeKind::AnyType) return element;
        if (element->kind() != c10::TypeKind::UnionType) return c10::OptionalType::create(element);
      }
    }
    c10::UnionTypePtr made;
    try {
      made = c10::UnionType::create(std::move(members));
    } catch (const c10::Error& error) {
      throw TypeParseError{at_, "this union is not a type: " + std::string(error.msg())};
    }
    if (made->containedTypes().size() == 1) return made->containedTypes()[0];
    if (made->kind() != c10::TypeKind::OptionalType) {
      if (const auto optional = made->toOptional()) return *optional;
    }
    return made;
  }

  TypePtr MakeDict(size_t begin, TypePtr key, TypePtr value) {
    switch (key->kind()) {
      case c10::TypeKind::AnyType:
      case c10::TypeKind::IntType:
      case c10::TypeKind::BoolType:
      case c10::TypeKind::FloatType:
      case c10::TypeKind::ComplexType:
      case c10::TypeKind::StringType:
      case c10::TypeKind::TensorType:
      case c10::TypeKind::DeviceObjType:
        return c10::DictType::create(std::move(key), std::move(value));
      default:
        throw TypeParseError{begin, "a dict's keys cannot be of type " + key->repr_str() +
                                        "; int, float, complex, bool, str, Tensor and Device keys are supported"};
    }
  }

  std::string_view text_;
  const ClassResolver& resolve_class_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

c10::TypePtr ParseType(std::string_view text, const ClassResolver& resolve_class) {
  return Parser(text, resolve_class).ParseAll();
}

}  // namespace hearth
