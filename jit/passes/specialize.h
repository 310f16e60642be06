// Makes the graph of one method for one object: calls replaced by the callee's body, attributes that nothing assigns
// replaced by their values, and whatever that decides decided on the way (branches on constants, tuples taken apart,
// checks of types), so that the dead code of a model is never built.
//
// One walk over the emitted graphs, from caller to callee, that copies what stays. The method is partial evaluation.
//   - A call is inlined if the callee is known (a function, or a method of an object whose class is known), it is not
//     being inlined already, and the graph stays within the node budget. InlinedCall chains say who called.
//   - `self` bound to an object makes it a constant; an attribute of a constant object that no method assigns is a
//     constant, named by its path ("layer1.0.conv1.weight") and carrying (instance, slot). Tensors and containers stay
//     the very same objects; a list or dict stays an attribute if some method may write to one of its type. A module
//     behind an interface is what it is in the object.
//   - A prim::If on a constant becomes the branch taken; a Loop that does not run becomes its inputs; what a loop
//     carries round unchanged is not carried.
// Constants stand at the top of the graph, scalars once each.
//
// What it leaves behind unused is EliminateDeadCode's (dead_code.h). Derivatives stay what they were.
#pragma once

namespace hearth {

class Compilation;

bool Specialize(Compilation& compilation);

}  // namespace hearth
