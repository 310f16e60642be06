// A tensor that is made of one number only to be copied into another one (`x[1:] = 3` is written so in TorchScript):
// the number fills it, and no tensor is made. On a GPU that was a copy from the host's memory, for which the run waits
// and which cannot be recorded. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool FillNumbers(Compilation& compilation);

}  // namespace hearth
