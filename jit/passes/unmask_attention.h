// Attention whose mask is a constant that hides nothing has no mask: a trace of a model that was given none has one of
// all ones. Without it LibTorch has faster kernels. Runs after fold_constant_tensors. Returns whether the graph
// changed.
#pragma once

namespace hearth {

class Compilation;

bool UnmaskAttention(Compilation& compilation);

}  // namespace hearth
