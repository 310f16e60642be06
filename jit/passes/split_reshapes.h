// A reshape or flatten of a tensor that lies in memory so that there is no such view of it, on a GPU where kernels are
// made, becomes what it does: a copy in the default order (aten::contiguous), which fusion has kernels for
// (passes/fuse), and a view of that. Runs once the order of all tensors is settled. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool SplitReshapes(Compilation& compilation);

}  // namespace hearth
