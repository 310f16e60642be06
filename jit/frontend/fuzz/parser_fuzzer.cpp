// Any bytes through the lexer and parser, as a file and as an expression: the answer is a tree whose ranges nest inside
// the text and whose height keeps its bound, or a CompileError whose place lies in the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "jit/frontend/parser.h"
#include "jit/frontend/tree_printer.h"
#include "jit/support/errors.h"

namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

template <class Parse>
void Try(const std::shared_ptr<const hearth::Source>& source, Parse parse) {
  try {
    const auto tree = parse(source);
    for (const hearth::tree::Stmt* statement : tree->body()) {
      Check(statement->range.begin < statement->range.end && statement->range.end <= source->text().size());
      Check(statement->height <= hearth::tree::kMaxTreeHeight);
    }
    if (source->text().size() < 4096) {
      hearth::tree::PrintTree(*tree, hearth::tree::PrintRanges::kYes);
      hearth::tree::PrintTree(tree->expression(), hearth::tree::PrintRanges::kYes);
    }
  } catch (const hearth::CompileError& error) {
    Check(error.range().begin <= error.range().end && error.range().end <= source->text().size());
    Check(!error.message().empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto source =
      std::make_shared<const hearth::Source>(std::string(reinterpret_cast<const char*>(data), size), "fuzz.py");
  Try(source, hearth::ParseFile);
  Try(source, hearth::ParseExpression);
  return 0;
}
