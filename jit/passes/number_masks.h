// On a GPU, a mask of bools that hides something from attention becomes numbers once, zeros and minus infinity, and not
// again in every layer that takes it: LibTorch's kernels add their mask, and make these numbers of bools first. A
// constant one becomes another constant. In half precision only a constant that lets each query see something: cuDNN is
// given other numbers, which is the same where something is seen. Runs after unmask_attention. Returns whether the
// graph changed.
#pragma once

namespace hearth {

class Compilation;

bool NumberMasks(Compilation& compilation);

}  // namespace hearth
