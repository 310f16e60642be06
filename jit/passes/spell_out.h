// Operators that there are no kernels of hearth's own for become those that there are some for:
//
//   prelu(x, w)                                   where(x > 0, x, x * w), w along the channels
//   max(x, d) and min(x, d), the largest and
//   smallest numbers alone                        amax(x, [d]), amin(x, [d]), which look for no indices
//   instance_norm(x, w, b), without statistics    group_norm(x, channels, w, b), which leaves images channels-last
//   l1_loss(x, y, mean) and other losses of rows  mean(l1_loss(x, y, none)); sum
//   type_as(x, y)                                 to(x, y's dtype)
//   any(x) and all(x), of many on a GPU           any(any(x, -1))
//   group_norm(x, groups, w, b) of images         x * f + o, with f, o = hearth::group_scales(x, groups, w, b)
//                                                 of sequences as of images of one row
//
// Where kernels are made, but for extremes and instance_norm. The last one and instance_norm where nobody sees in which
// order in memory the result lies: one for images of known channels on a GPU, where LibTorch's group norm copies images
// that lie channels-last, and its scales are a kernel (fuser/lowering/group_scales.h), the other for float32 images of
// a CPU. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool SpellOut(Compilation& compilation);

}  // namespace hearth
