// For kernels that two implementations must agree on bit for bit: turns values into ones of which the IR leaves nothing
// open, so that what is computed of them is the same everywhere.
#pragma once

#include "jit/fuser/ir/builder.h"

namespace hearth::fuser {

// Of f32 and f64: another number instead of NaN, whose sign and payload are unspecified.
ValueId WithoutNan(KernelBuilder& k, ValueId value);

// 0 instead of -0, since either may be a minimum or maximum, or a sum's begin. Integers and b1 stay as they are.
ValueId WithPlainZero(KernelBuilder& k, ValueId value);

// Of f32 and f64: within the bounds; a NaN stays one.
ValueId Clamped(KernelBuilder& k, ValueId value, double least, double largest);

// An element of which a hundred can be summed or multiplied without rounding, in any order.
ValueId ExactElement(KernelBuilder& k, Reduction reduction, ValueId element);

// A cast of what fits.
ValueId SpecifiedCast(KernelBuilder& k, Dtype dtype, ValueId value);

}  // namespace hearth::fuser
