// On a GPU, a mask of bools that hides something from attention becomes numbers once, zeros and minus infinity, and not
// again in every layer that takes it: LibTorch's kernels add their mask, and make the same numbers of bools first. A
// constant one becomes another constant. Runs after unmask_attention. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool NumberMasks(Compilation& compilation);

}  // namespace hearth
