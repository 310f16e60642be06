// How large a value is as those see it who go through it by recursion: printing, asking for its type, freeing. A value
// that is small in memory may be endless to them: an object that holds itself, a tuple of the same tuple twice, sixty
// times over.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>

namespace hearth {

// Whether containers or objects lie in each other more than `levels` deep; an object that holds itself does. Looks at a
// list's elements only where they can hold more.
bool NestsDeeperThan(const c10::IValue& value, size_t levels);

// Throws if going through the value would meet more than some ten million containers and objects, each counted as often
// as it is met. `what` is what would be done: "printed".
void RequireFinite(const c10::IValue& value, const char* what);

}  // namespace hearth
