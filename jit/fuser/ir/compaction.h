// The last step of whoever makes a Kernel: drops what nothing uses and numbers what is left.
//
// What is used are stores and what they need, the sizes and strides of buffers, the extents of loops that are left.
// Local buffers that nothing loads and what is stored to them, results and carried values that nothing needs, and loops
// that neither store nor give anything go; a kReduce whose results nobody wants but that stores becomes a kParallel.
// Inputs, outputs and symbols stay.
#pragma once

#include <span>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// `draft` is well-formed, but that its values and buffers may have any numbers (values below num_values; buffers their
// places in `buffers`). `symbols` are the numbers of its symbols. Values are numbered in the order of their definitions
// afterwards, and buffers are in the order that a Kernel wants.
Kernel Compact(Kernel draft, std::span<const ValueId> symbols);

}  // namespace hearth::fuser
