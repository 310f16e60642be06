// Operators that LibTorch does not have, in the namespace hearth: what passes put into plans in the place of several
// nodes. They are registered with LibTorch's registry, so that they are found, printed and parsed as any other, and
// each is a native function that takes whatever arguments fit its schema.
#pragma once

namespace hearth {

// At the first call; later ones do nothing. Thread-safe.
void RegisterPlanOperators();

}  // namespace hearth
