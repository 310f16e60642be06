// Operators that there are no kernels of hearth's own for become those that there are some for:
//
//   prelu(x, w)                                   where(x > 0, x, x * w), w along the channels
//   max(x, d) and min(x, d), the largest and
//   smallest numbers alone                        amax(x, [d]), amin(x, [d]), which look for no indices
//   instance_norm(x, w, b), without statistics    group_norm(x, channels, w, b), which leaves images channels-last
//
// The first where kernels are made, the last for float32 images of a CPU where nobody sees in which order in memory the
// result lies. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool SpellOut(Compilation& compilation);

}  // namespace hearth
