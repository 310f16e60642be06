// Makes what planned calls of libraries need for the sizes that they will most likely be given, so that no request
// makes it (libraries/convolution.h). It changes no graph, and comes when nothing is added to the calls any more.
#pragma once

namespace hearth {

class Compilation;

bool PrepareCalls(Compilation& compilation);

}  // namespace hearth
