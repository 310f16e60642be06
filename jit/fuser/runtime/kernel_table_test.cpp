// Kernels made by hearth-codegen, and by helpers that fail in every way.
#include "jit/fuser/runtime/kernel_table.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <stdexcept>

#include "jit/support/processor_time.h"

namespace hearth::fuser {
namespace {

constexpr char kDoubled[] = R"(kernel(%0) {
  %1 = i64 constant 1
  input @0 f32 [%0] strides [%1]
  output @1 f32 [%0] strides [%1]
  parallel %2 < %0 {
    %3 = f32 load @0 [%2]
    %4 = f32 add %3, %3
    store @1 [%2], %4
  }
}
)";

std::string Codegen() { return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "hearth-codegen"; }

std::shared_ptr<const KernelCode> Get(KernelTable& table, const std::string& text) { return table.Get(text, {}); }

TEST(KernelTableTest, CodeOfAKernelRunsAndIsKept) {
  KernelTable table({.helper = Codegen()});
  EXPECT_EQ(table.Find(kDoubled), std::nullopt);
  const std::shared_ptr<const KernelCode> code = Get(table, kDoubled);
  ASSERT_NE(code, nullptr);
  std::array<float, 5> x{1, 2, 3, 4, 5}, y{};
  const std::array<void*, 2> buffers{x.data(), y.data()};
  const int64_t size = 5;
  std::array<int64_t, 3> sizes{};
  code->sizes(&size, sizes.data());
  ASSERT_EQ(sizes[0], 5);
  code->loops.at(0)(buffers.data(), &size, 1, 5, nullptr);
  EXPECT_EQ(y, (std::array<float, 5>{0, 4, 6, 8, 10}));
  EXPECT_EQ(Get(table, kDoubled), code);
  EXPECT_EQ(table.Find(kDoubled), std::optional(code));
  EXPECT_EQ(table.counters().made, 1U);
  EXPECT_GT(table.counters().bytes, 0U);
}

TEST(KernelTableTest, WhatTheHelperRefusesIsNotAskedForAgainAndOthersAreMade) {
  KernelTable table({.helper = Codegen()});
  EXPECT_EQ(Get(table, "no kernel"), nullptr);
  EXPECT_EQ(Get(table, "no kernel"), nullptr);
  EXPECT_EQ(table.Find("no kernel"), std::optional(std::shared_ptr<const KernelCode>()));
  EXPECT_NE(Get(table, kDoubled), nullptr);
  EXPECT_EQ(table.counters().refused, 1U);
}

TEST(KernelTableTest, AHelperThatEndsIsMissingOrNeverAnswersCostsTheKernelAlone) {
  using namespace std::chrono_literals;
  for (const char* helper : {"/bin/true", "/nowhere/hearth-codegen", "/usr/bin/tail"}) {
    KernelTable table({.helper = helper, .patience = 20ms});
    EXPECT_EQ(Get(table, kDoubled), nullptr) << helper;
    EXPECT_EQ(table.counters().refused, 1U) << helper;
  }
}

TEST(KernelTableTest, WhoWaitsMayGiveUpAndAskAgain) {
  KernelTable table({.helper = Codegen()});
  EXPECT_THROW(table.Get(kDoubled, [] { throw std::runtime_error("not wanted any more"); }), std::runtime_error);
  EXPECT_EQ(table.Find(kDoubled), std::nullopt);
  int rests = 0;
  EXPECT_NE(table.Get(kDoubled, [&] { ++rests; }), nullptr);
  EXPECT_GT(rests, 0);
}

TEST(KernelTableTest, TheHelpersTimeIsThatOfTheThreadThatWaits) {
  KernelTable table({.helper = Codegen()});
  const auto before = ProcessorTimeOfThread(), own = TimeOf(CLOCK_THREAD_CPUTIME_ID);
  ASSERT_NE(Get(table, kDoubled), nullptr);
  EXPECT_GT(ProcessorTimeOfThread() - before, TimeOf(CLOCK_THREAD_CPUTIME_ID) - own);
}

}  // namespace
}  // namespace hearth::fuser
