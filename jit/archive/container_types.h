// Gives lists and dicts that were read without their element types the types they are meant to have. A pickle builds
// containers first and names their types afterwards (restore_type_tag), or never.
//
// Nothing is trusted: each element is checked against the type it is to have, since typed code reads a List[int]
// without asking what is in it.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type_base.h>

namespace hearth {

// Makes `value`, just read, a value of `type`: sets the element types of all lists and dicts in it. Throws ArchiveError
// if it cannot be one, saying what was expected and found. A container that has a type already must have this one.
void RestoreType(const c10::IValue& value, const c10::TypePtr& type);

// Sets the element types of all untyped containers in `value` by what is in them: List[T] and Dict[K, T] where all
// elements have the type T, else List[Any], Dict[K, Any]. Empty containers stay List[Any], Dict[Any, Any].
void InferContainerTypes(const c10::IValue& value);

}  // namespace hearth
