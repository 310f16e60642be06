// Runs a kernel, which comes as text, in the machine code that hearth-codegen makes of it and in the evaluator of the
// loop IR, on random inputs of random sizes, and compares what they give: how files of hearthd's reproducers are used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

struct KernelCheck {
  bool agrees = false;
  std::string report;  // for people, a line a run
};

// `helper` is the path of hearth-codegen. What the evaluator refuses to run (an index that is not within the sizes,
// say) counts as no run. Throws fuser::ParseError, and what fuser::Verify throws, where the text is no kernel.
KernelCheck CheckKernel(std::string_view text, const std::string& helper, uint64_t seed, int runs);

}  // namespace hearth
