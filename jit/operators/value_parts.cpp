#include "jit/operators/value_parts.h"

#include <ATen/core/jit_type.h>

#include <unordered_set>
#include <vector>

#include "jit/operators/native_support.h"

namespace hearth {
namespace {

using c10::IValue;
using Level = std::vector<IValue>;

constexpr size_t kMostParts = 10000000;

bool CanHold(const IValue& value) {
  return value.isObject() || value.isTuple() || value.isList() || value.isGenericDict();
}

bool CanHold(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::NumberType:
      return false;
    default:
      return true;
  }
}

void AddChildren(const IValue& value, Level& next) {
  const auto add = [&](const IValue& child) {
    if (CanHold(child)) next.push_back(child);
  };
  if (value.isObject()) {
    for (const IValue& child : value.toObjectRef().slots()) add(child);
  } else if (value.isTuple()) {
    for (const IValue& child : value.toTupleRef().elements()) add(child);
  } else if (value.isList()) {
    if (!CanHold(*native::ElementType(value))) return;
    for (const IValue& child : native::Elements(value)) add(child);
  } else {
    for (const auto& entry : native::DictOf(value).dict) {
      add(entry.first);
      add(entry.second);
    }
  }
}

}  // namespace

bool NestsDeeperThan(const IValue& value, size_t levels) {
  Level level;
  if (CanHold(value)) level.push_back(value);
  for (size_t depth = 0; !level.empty(); ++depth) {
    if (depth >= levels) return true;
    Level next;
    std::unordered_set<const void*> seen;  // what many hold is looked at once a level
    for (const IValue& held : level) {
      if (seen.insert(held.internalToPointer()).second) AddChildren(held, next);
    }
    level = std::move(next);
  }
  return false;
}

void RequireFinite(const IValue& value, const char* what) {
  if (!CanHold(value)) return;
  Level open = {value};
  for (size_t count = 0; !open.empty(); ++count) {
    TORCH_CHECK(count < kMostParts, "a value of more than ", kMostParts, " parts cannot be ", what);
    const IValue part = std::move(open.back());
    open.pop_back();
    AddChildren(part, open);
  }
}

}  // namespace hearth
