// aten::im2col (F.unfold) of images on a GPU, where kernels are made, becomes padding, the windows as a view of the
// padded images (aten::unfold) and one copy: LibTorch launches a kernel for each image of a batch. Where all that is
// asked for is the result with its last two dimensions swapped, which is then copied, the one copy makes that.
// Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool ViewWindows(Compilation& compilation);

}  // namespace hearth
