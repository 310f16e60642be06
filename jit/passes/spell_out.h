// Operators that kernels have no rules for become those that they have, of which the whole is fused with what is
// around:
//
//   prelu(x, w)                                   where(x > 0, x, x * w), w along the channels
//   max(x, d) and min(x, d), the largest and
//   smallest numbers alone                        amax(x, [d]), amin(x, [d]), which look for no indices
//
// The first where kernels are made. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool SpellOut(Compilation& compilation);

}  // namespace hearth
