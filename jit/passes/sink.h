// Moves what only one branch needs into that branch: the message of an assertion is put together only when it fails.
//
// A node is moved if all its uses lie in one block of one prim::If, it has no effect, cannot fail, and reads no memory
// that something writes. Only what is cheap is moved: no operator that gives a tensor. One backward walk. Returns
// whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool SinkIntoBranches(Compilation& compilation);

}  // namespace hearth
