// Arguments as hearth-opt is given them, one text each:
//   Float[2, 3]                    a tensor of zeros; dtypes as c10 names them
//   Float[2, 3, 4, 4]:channels_last, Float[2]:requires_grad
//   (Long[1], None), [Float[2], Float[3]]    tuples, lists of tensors
//   None, int, float, bool, str    a value of the type
//   ints:3                         a list of so many ints
//   self                           the object that the graph's first input is bound to
#pragma once

#include <span>
#include <string>
#include <vector>

#include "jit/analysis/argument_spec.h"

namespace hearth {

// What a plan for such arguments may rely on. Throws std::runtime_error for what is none of the above.
std::vector<ArgumentFacts> FactsOfExamples(std::span<const std::string> texts,
                                           const c10::intrusive_ptr<c10::ivalue::Object>& self);

}  // namespace hearth
