// Parses TorchScript: both what torch.jit.save prints and what people write, the parts of Python's grammar that
// TorchScript knows. Hand-written recursive descent with precedence climbing over one pass of tokens; see tree.h for
// the result. What Python has and TorchScript has not (lambda, yield, try, global, sets, ...) is refused by name.
//
// Errors are CompileError with the place: what was expected and what came. Any bytes are safe to parse: nesting is
// bounded by tree::kMaxTreeHeight, the text by 4 GiB. Thread-safe: calls share nothing.
#pragma once

#include <memory>

#include "jit/frontend/tree.h"
#include "jit/support/source_range.h"

namespace hearth {

// A file: definitions and statements.
std::unique_ptr<const tree::Tree> ParseFile(std::shared_ptr<const Source> source);

// One expression and nothing else, e.g. a type tag such as "Dict[str, List[int]]".
std::unique_ptr<const tree::Tree> ParseExpression(std::shared_ptr<const Source> source);

}  // namespace hearth
