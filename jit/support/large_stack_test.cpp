#include "jit/support/large_stack.h"

#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace hearth {
namespace {

// A tuple in a tuple in a tuple, as deep as said.
c10::IValue Chain(int depth) {
  c10::IValue chain = 1;
  for (int i = 0; i < depth; ++i) chain = c10::ivalue::Tuple::create({std::move(chain)});
  return chain;
}

size_t ResidentKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  }
  return 0;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(HEARTH_THREAD_SANITIZER)
TEST(LargeStackTest, AValueNestedAMillionDeepIsFreedAndTheStackGivenBack) {
  size_t before = 0, used = 0, after = 0;
  {
    LargeStackThread thread([&] {
      before = ResidentKilobytes();
      Chain(1000000);
      used = ResidentKilobytes();
      TrimStack();
      after = ResidentKilobytes();
    });
  }
  EXPECT_GT(used, before + 40000);
  EXPECT_LT(after, used - 40000);
}
#endif

TEST(LargeStackTest, TrimmingAnOrdinaryThreadsStackDoesNothing) { TrimStack(); }

}  // namespace
}  // namespace hearth
