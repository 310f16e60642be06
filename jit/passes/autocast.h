// torch.autocast: inside `with autocast(...)` operators get their tensors cast first, as their definitions say
// (OperatorDefinition::autocast): to the region's reduced precision, to float32, or (mixed inputs) to the widest. The
// manager's own __enter__ and __exit__ do nothing; in TorchScript a region is found in the graph, and what it does is
// decided before the graph runs.
//
// Looks at regions whose manager is made in this graph (after inlining): its device, dtype and whether it is enabled
// are what its attributes were set to. Calls that were not inlined are not reached, as in torch.jit. The casts are
// LibTorch's _autocast_to_reduced_precision and _autocast_to_full_precision, which leave other devices and dtypes
// alone. Returns whether the graph changed.
//
// The policies and rules are those of torch.jit's autocast pass, which is the behaviour to reproduce.
#pragma once

namespace hearth {

class Compilation;

bool InsertAutocasts(Compilation& compilation);

}  // namespace hearth
