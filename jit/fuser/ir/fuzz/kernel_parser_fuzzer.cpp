// Any text either reads as a Kernel or is a ParseError; a Kernel that was read is well-formed or a VerifyError; one
// that is well-formed prints, reads back to an equal one and runs on small buffers, unless that is an EvaluationError.
#include <cstdlib>
#include <string_view>

#include "jit/fuser/ir/evaluator.h"
#include "jit/fuser/ir/parser.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/verifier.h"

namespace {

// Memory of its own for each buffer, so that a sanitizer sees what goes past its end.
void RunSmall(const hearth::fuser::Kernel& kernel) {
  const size_t launched = kernel.num_inputs() + kernel.num_outputs();
  std::vector<std::vector<std::byte>> bytes(launched, std::vector<std::byte>(64));
  std::vector<hearth::fuser::BufferMemory> memory;
  for (std::vector<std::byte>& one : bytes) memory.push_back({one, 0});
  const std::vector<int64_t> symbols(kernel.symbols.size(), 3);
  try {
    hearth::fuser::Evaluate(kernel, symbols, memory, {.max_steps = 2000, .max_local_elements = 1000});
  } catch (const hearth::fuser::EvaluationError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hearth::fuser::Kernel kernel;
  try {
    kernel = hearth::fuser::Parse({reinterpret_cast<const char*>(data), size});
  } catch (const hearth::fuser::ParseError&) {
    return 0;
  }
  try {
    hearth::fuser::Verify(kernel);
  } catch (const hearth::fuser::VerifyError&) {
    return 0;
  }
  const std::string text = hearth::fuser::Print(kernel);
  const hearth::fuser::Kernel read = hearth::fuser::Parse(text);
  if (!hearth::fuser::Equal(read, kernel) || hearth::fuser::Print(read) != text) std::abort();
  RunSmall(kernel);
  return 0;
}
