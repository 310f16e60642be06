// Kernels made by hearth-codegen, and by helpers that fail in every way.
#include "jit/fuser/runtime/kernel_table.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include "jit/support/processor_time.h"

namespace hearth::fuser {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

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

const std::shared_ptr<const KernelCode> kNone;

class KernelFolderTest : public testing::Test {
 protected:
  ~KernelFolderTest() override { fs::remove_all(folder_); }

  std::string Path(const char* name) const { return folder_ / name; }
  // A program that does that.
  std::string Helper(const std::string& script) const {
    fs::create_directory(folder_);
    const std::string path = Path("helper");
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("kernel-table-" + std::to_string(std::random_device()()));
};

// What the code makes of 1 to 5.
std::array<float, 5> Doubled(const KernelCode& code) {
  std::array<float, 5> x{1, 2, 3, 4, 5}, y{};
  const std::array<void*, 2> buffers{x.data(), y.data()};
  const int64_t size = 5;
  code.loops.at(0)(buffers.data(), &size, 0, size, nullptr);
  return y;
}

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

TEST(KernelTableTest, TablesOfOneArchitectureMakeAKernelOnce) {
  const auto shared = std::make_shared<KernelImages>();
  KernelTable maker({.helper = Codegen(), .shared = shared});
  // It could not make any itself.
  KernelTable other({.helper = "/nowhere/hearth-codegen", .shared = shared});
  EXPECT_EQ(other.Find(kDoubled), std::nullopt);
  const auto made = Get(maker, kDoubled);
  ASSERT_NE(made, nullptr);
  const auto code = Get(other, kDoubled);
  ASSERT_NE(code, nullptr);
  EXPECT_NE(code, made) << "each has it on its own device";
  EXPECT_EQ(Doubled(*code), (std::array<float, 5>{2, 4, 6, 8, 10}));
  EXPECT_EQ(other.counters().made + other.counters().read, 0U);
  maker.SetAside(kDoubled, "it gave wrong results");
  KernelTable late({.helper = "/nowhere/hearth-codegen", .shared = shared});
  EXPECT_EQ(late.Find(kDoubled), std::nullopt);
}

TEST(KernelTableTest, WhatTheHelperRefusesIsNotAskedForAgainAndOthersAreMade) {
  KernelTable table({.helper = Codegen()});
  EXPECT_EQ(Get(table, "no kernel"), nullptr);
  EXPECT_EQ(Get(table, "no kernel"), nullptr);
  EXPECT_EQ(table.Find("no kernel"), std::optional(kNone));
  EXPECT_NE(Get(table, kDoubled), nullptr);
  EXPECT_EQ(table.counters().failed, 1U);
}

TEST(KernelTableTest, AHelperThatEndsOrIsMissingIsAskedAgainAndNotForEver) {
  for (const char* helper : {"/bin/true", "/nowhere/hearth-codegen"}) {
    KernelTable table({.helper = helper, .retry_after = 0ms});
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(Get(table, kDoubled), nullptr) << helper;
      EXPECT_TRUE(table.MayRetry()) << helper;
      EXPECT_EQ(table.counters().failed, i == 7 ? 1U : 0U) << helper;
    }
    EXPECT_EQ(table.Find(kDoubled), std::optional(kNone)) << helper;
  }
}

TEST(KernelTableTest, AHelperThatFailsOrNeverAnswersIsNotAskedAgainBeforeAWhile) {
  for (const char* helper : {"/bin/true", "/nowhere/hearth-codegen", "/usr/bin/tail"}) {
    KernelTable table({.helper = helper, .patience = 50ms, .retry_after = 1h});
    for (int i = 0; i < 20; ++i) EXPECT_EQ(Get(table, kDoubled), nullptr) << helper;
    EXPECT_FALSE(table.MayRetry()) << helper;
    EXPECT_EQ(table.Find(kDoubled), std::nullopt) << helper;
    EXPECT_EQ(table.counters().waiting, 1U) << helper;
    EXPECT_EQ(table.counters().failed, 0U) << helper;
  }
}

TEST_F(KernelFolderTest, AHelperThatCannotBeStartedNowMayBeLater) {
  fs::create_directory(folder_);
  const fs::path helper = folder_ / "hearth-codegen";
  KernelTable table({.helper = helper, .retry_after = 0ms});
  EXPECT_FALSE(table.MayRetry());
  EXPECT_EQ(Get(table, kDoubled), nullptr);
  EXPECT_TRUE(table.MayRetry());
  fs::create_symlink(Codegen(), helper);
  EXPECT_NE(Get(table, kDoubled), nullptr);
}

TEST_F(KernelFolderTest, AHelperThatWasKilledIsStartedAgainAtOnce) {
  const std::string helper = Helper("if [ ! -e " + Path("killed") + " ]; then touch " + Path("killed") +
                                    "; kill -KILL $$; fi; exec " + Codegen());
  KernelTable table({.helper = helper});
  EXPECT_NE(Get(table, kDoubled), nullptr);
}

TEST_F(KernelFolderTest, AKernelAtWhichTheHelperCrashesTwiceIsSetAside) {
  const std::string log = Path("crashes");
  const std::string helper = Helper("echo crash >> " + log + "; kill -SEGV $$");
  KernelTable table({.helper = helper});
  EXPECT_EQ(Get(table, kDoubled), nullptr);
  EXPECT_EQ(Get(table, kDoubled), nullptr);
  EXPECT_EQ(table.Find(kDoubled), std::optional(kNone));
  EXPECT_EQ(table.counters().failed, 1U);
  EXPECT_FALSE(table.MayRetry());
  EXPECT_EQ(fs::file_size(log), 2 * std::string("crash\n").size());
}

TEST_F(KernelFolderTest, AKernelOverWhichTheHelperTakesTooLongIsSetAside) {
  KernelTable table({.helper = Helper("while :; do :; done"), .patience = 50ms});
  EXPECT_EQ(Get(table, kDoubled), nullptr);
  EXPECT_EQ(table.Find(kDoubled), std::optional(kNone));
  EXPECT_EQ(table.counters().failed, 1U);
  EXPECT_FALSE(table.MayRetry());
}

TEST(KernelTableTest, AKernelHasTenSecondsOfTheHelpersTime) { EXPECT_EQ(KernelTable::Settings().patience, 10s); }

TEST_F(KernelFolderTest, WhatOneProcessMadeTheNextOneReads) {
  const KernelTable::Settings settings{.helper = Codegen(), .folder = folder_};
  KernelTable first(settings);
  ASSERT_NE(Get(first, kDoubled), nullptr);
  KernelTable second(settings);
  const auto found = second.Find(kDoubled);
  ASSERT_TRUE(found && *found != nullptr);
  EXPECT_EQ(Doubled(**found), (std::array<float, 5>{2, 4, 6, 8, 10}));
  EXPECT_EQ(Get(second, kDoubled), *found);
  EXPECT_EQ(second.counters().read, 1U);
  EXPECT_EQ(second.counters().made, 0U);
  EXPECT_EQ(second.counters().waiting, 0U);
}

TEST_F(KernelFolderTest, AFileThatIsBrokenIsMadeAgain) {
  const KernelTable::Settings settings{.helper = Codegen(), .folder = folder_};
  {
    KernelTable first(settings);
    ASSERT_NE(Get(first, kDoubled), nullptr);
  }
  const fs::path file = fs::directory_iterator(folder_ / "kernels")->path();
  fs::resize_file(file, fs::file_size(file) / 2);
  KernelTable second(settings);
  EXPECT_EQ(second.Find(kDoubled), std::nullopt);
  EXPECT_NE(Get(second, kDoubled), nullptr);
  EXPECT_EQ(second.counters().made, 1U);
  KernelTable third(settings);
  EXPECT_NE(Get(third, kDoubled), nullptr);
  EXPECT_EQ(third.counters().read, 1U);
}

TEST_F(KernelFolderTest, WhatIsRefusedOrGaveWrongResultsIsKnownToTheNextProcessAndShown) {
  const KernelTable::Settings settings{.helper = Codegen(), .folder = folder_};
  KernelTable first(settings);
  EXPECT_EQ(Get(first, "no kernel"), nullptr);
  const auto code = Get(first, kDoubled);
  ASSERT_NE(code, nullptr);
  first.SetAside(kDoubled, "three times two is seven");
  EXPECT_TRUE(code->set_aside);
  EXPECT_EQ(first.Find(kDoubled), std::optional(kNone));
  EXPECT_EQ(first.counters().failed, 2U);
  KernelTable second(settings);
  for (const char* text : {"no kernel", kDoubled}) EXPECT_EQ(second.Find(text), std::optional(kNone));
  EXPECT_EQ(second.counters().failed, 2U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "reproducers"), {}), 2);
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
