// Makes a type of a class definition in an archive's code: a module, a plain class, a named tuple, an enum or an
// interface. Methods are declared; their bodies are emitted later.
#pragma once

#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>

#include <string>

#include "jit/frontend/tree.h"

namespace hearth {

class ArchiveResolver;

// Adds the type to the resolver's unit, which must not have one of that name, and gives it. Throws CompileError.
c10::NamedTypePtr ImportClass(ArchiveResolver& resolver, const std::string& qualified_name,
                              const tree::ClassDef& definition);

}  // namespace hearth
