#include "jit/ir/type_size.h"

#include <ATen/core/jit_type.h>

#include <vector>

namespace hearth {
namespace {

bool IsWrittenByName(c10::TypeKind kind) {
  return kind == c10::TypeKind::ClassType || kind == c10::TypeKind::EnumType || kind == c10::TypeKind::InterfaceType;
}

// Takes what the type and its parts are from `left`; false where that does not suffice.
bool Fits(const c10::Type& type, size_t depth, size_t* left) {
  if (*left == 0 || depth > kDeepestType) return false;
  --*left;
  if (IsWrittenByName(type.kind())) return true;
  for (const c10::TypePtr& part : type.containedTypes()) {
    if (!Fits(*part, depth + 1, left)) return false;
  }
  return true;
}

}  // namespace

bool TypeFits(const c10::Type& type, size_t largest) { return Fits(type, 1, &largest); }

void RequireTypeSize(const c10::Type& type) {
  TORCH_CHECK(TypeFits(type, kLargestType), "a type may have ", kLargestType, " parts when it is written out and nest ",
              kDeepestType, " levels deep; this one has more");
}

void RequireFieldSize(const c10::Type& type) {
  size_t left = kLargestType;
  std::vector<const c10::Type*> open = {&type};
  while (!open.empty()) {
    const c10::Type* next = open.back();
    open.pop_back();
    TORCH_CHECK(left-- > 0, "the type of a named tuple's field may lead to ", kLargestType,
                " others, through the attributes of classes too; this one leads to more, or to itself");
    for (const c10::TypePtr& part : next->containedTypes()) open.push_back(part.get());
  }
}

}  // namespace hearth
