// Any text either reads as a Graph or is a CompileError; a Graph that was read can be verified and printed, and its
// text reads back to the same text.
#include <cstdlib>

#include "jit/ir/parser.h"
#include "jit/ir/printer.h"
#include "jit/ir/verifier.h"
#include "jit/support/errors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::unique_ptr<hearth::Graph> graph;
  try {
    graph = hearth::ParseGraph(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const hearth::CompileError&) {
    return 0;
  }
  try {
    hearth::Verify(*graph);
  } catch (const hearth::VerifyError&) {
    return 0;
  }
  const std::string text = hearth::PrintGraph(*graph);
  if (hearth::PrintGraph(*hearth::ParseGraph(text)) != text) std::abort();
  return 0;
}
