// How large a type is when it is written out. Types share their parts, so a line of source can double one: forty such
// lines, and LibTorch's functions on types, which know nothing of sharing (equality, subtyping, printing), do not end.
#pragma once

#include <ATen/core/jit_type_base.h>

#include <cstddef>

namespace hearth {

// Names in a type as it is written out, and levels that they nest. Named tuples count with their fields.
constexpr size_t kLargestType = 10000;
constexpr size_t kDeepestType = 1000;

// What each member of a union may have: LibTorch compares unions member by member, in the square of their parts.
constexpr size_t kLargestUnionMember = 1000;

// Whether the type has no more than so many parts and levels. Takes no longer than walking through `largest` parts.
bool TypeFits(const c10::Type& type, size_t largest);

// Throws c10::Error if the type is larger or deeper. Classes, enums and interfaces count one.
void RequireTypeSize(const c10::Type& type);

// Throws c10::Error if the type with all that it leads to, through the attributes of classes too, is larger than
// kLargestType: LibTorch walks all of it when a named tuple has a field of that type, and does not end where a class
// holds itself.
void RequireFieldSize(const c10::Type& type);

}  // namespace hearth
