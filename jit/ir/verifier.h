// Checks that a Graph is what every pass and the interpreter take it to be:
//   - every value is defined once, before its use, in the block of the use or one around it; a closure's body uses
//     only its own;
//   - use lists and node lists agree with inputs and blocks;
//   - inputs and outputs fit the operator's schema (subtyping, type variables), and the shapes of control flow: an If's
//     two blocks return what it gives, a Loop's block takes and returns what it carries, a fork's captures what it is
//     given;
//   - a node that is not an operator has the attributes that its kind demands.
// Linear in the Graph. Thread-safe for Graphs that nobody changes. Meant for tests and debug builds.
#pragma once

#include <stdexcept>

#include "jit/ir/graph.h"

namespace hearth {

// A bug in whatever made the Graph; what() says what is wrong and shows the node.
class VerifyError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws VerifyError at the first thing that is wrong.
void Verify(const Graph& graph);

}  // namespace hearth
