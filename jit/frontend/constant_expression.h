// Values of the expressions that stand where no code runs: default arguments, Final constants, enum members.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type_base.h>

#include "jit/frontend/resolver.h"
#include "jit/frontend/tree.h"

namespace hearth {

// `type` is what the value is for; it gives containers their type and makes a float of an int. Null lets the value say.
// Throws CompileError for what is not a constant.
c10::IValue EvaluateConstant(const tree::Expr& expr, const TypePtr& type, Resolver& resolver);

}  // namespace hearth
