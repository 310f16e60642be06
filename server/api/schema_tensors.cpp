#include "server/api/schema_tensors.h"

#include <ATen/core/jit_type.h>

#include <string_view>
#include <utility>

#include "server/api/tensor_path.h"
#include "server/api/value_from_tensors.h"

namespace hearth::server {
namespace {

// Whether "*" of the pattern, which stands for one part of a path, or at its end for the rest, makes it the path. A
// pattern that has ended before the path stands for all below it.
bool Matches(std::string_view pattern, std::string_view path) {
  while (true) {
    const size_t pattern_dot = pattern.find('.');
    if (pattern == "*") return !path.empty();
    const size_t path_dot = path.find('.');
    const std::string_view wanted = pattern.substr(0, pattern_dot);
    if (wanted != "*" && wanted != path.substr(0, path_dot)) return false;
    if (pattern_dot == std::string_view::npos) return true;
    if (path_dot == std::string_view::npos) return false;
    pattern.remove_prefix(pattern_dot + 1);
    path.remove_prefix(path_dot + 1);
  }
}

bool HasStar(std::string_view name) {
  return name == "*" || name.starts_with("*.") || name.ends_with(".*") || name.find(".*.") != std::string_view::npos;
}

}  // namespace

SchemaTensors SchemaTensors::OfArguments(const c10::FunctionSchema& schema) {
  SchemaTensors tensors;
  for (size_t i = 1; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    tensors.Append(*argument.type(), argument.name(), argument.default_value().has_value());
  }
  tensors.Index();
  return tensors;
}

SchemaTensors SchemaTensors::OfResult(const c10::FunctionSchema& schema) {
  SchemaTensors tensors;
  if (!schema.returns().empty()) tensors.Append(*schema.returns()[0].type(), "", false);
  tensors.Index();
  return tensors;
}

void SchemaTensors::Append(const c10::Type& type, const std::string& name, bool optional) {
  if (type.kind() == c10::TypeKind::OptionalType) {
    if (!IsOneTensor(type)) all_named_ = false;
    return Append(*type.expectRef<c10::OptionalType>().getElementType(), name, true);
  }
  const auto part = [&](const std::string& child) { return name.empty() ? child : JoinPath(name, child); };
  switch (type.kind()) {
    case c10::TypeKind::TupleType: {
      const auto& tuple = type.expectRef<c10::TupleType>();
      for (size_t i = 0; i < tuple.elements().size(); ++i) {
        const std::string child = tuple.schema() != nullptr ? tuple.schema()->arguments()[i].name() : std::to_string(i);
        Append(*tuple.elements()[i], part(child), optional);
      }
      return;
    }
    case c10::TypeKind::ListType:
      if (IsOneTensor(type)) break;
      return Append(*type.expectRef<c10::ListType>().getElementType(), part("*"), optional);
    case c10::TypeKind::DictType:
      return Append(*type.expectRef<c10::DictType>().getValueType(), part("*"), optional);
    case c10::TypeKind::NoneType:
      all_named_ = false;
      return;
    default:
      break;
  }
  TensorSpec spec{.name = name, .datatype = DatatypeOf(type), .optional = optional};
  if (type.kind() == c10::TypeKind::ListType) {
    spec.shape = {-1};
  } else if (spec.datatype != nullptr) {
    spec.shape.emplace();
  }
  specs_.push_back(std::move(spec));
  open_.push_back(!IsOneTensor(type) || type.kind() == c10::TypeKind::AnyType || HasStar(name));
}

void SchemaTensors::Index() {
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (open_[i]) {
      all_named_ = false;
    } else {
      named_.try_emplace(specs_[i].name, i);
    }
    if (specs_[i].name.empty()) specs_[i].name = kOnlyOutput;
  }
}

std::optional<size_t> SchemaTensors::Find(const std::string& path) const {
  if (const auto named = named_.find(path); named != named_.end()) return named->second;
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (!open_[i]) continue;
    // A result that tells nothing of itself: every tensor is of it.
    if (specs_[i].name == kOnlyOutput || Matches(specs_[i].name, path)) return i;
  }
  return std::nullopt;
}

}  // namespace hearth::server
