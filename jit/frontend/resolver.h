// What the emitter asks of the archive that it compiles for: what a qualified name means, what a type annotation
// means, and the archive's constants. Implemented by the SourceImporter.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <string>
#include <string_view>
#include <vector>

#include "jit/frontend/errors.h"
#include "jit/frontend/operator_table.h"
#include "jit/frontend/sugared_value.h"
#include "jit/frontend/tree.h"
#include "jit/module/compilation_unit.h"

namespace hearth {

class Resolver {
 public:
  virtual ~Resolver() = default;

  // The type that an annotation means. Throws CompileError.
  virtual TypePtr ResolveType(const tree::Expr& annotation) = 0;
  // The function or type of that name, or Unbound if it is only a prefix of names.
  virtual SugaredValue ResolveQualified(std::string_view qualified_name) = 0;
  virtual const std::vector<c10::IValue>& constants() const = 0;
  virtual OperatorTable& operators() = 0;
  virtual CompilationUnit& unit() = 0;
};

}  // namespace hearth
