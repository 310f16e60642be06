// The main of every test program: each test begins with the same random numbers of LibTorch's, whichever tests run
// before it, so that one that fails does so again. --gtest_random_seed=N gives others.
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace {

class SeedsEachTest : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& /*test*/) override {
    at::manual_seed(static_cast<uint64_t>(GTEST_FLAG_GET(random_seed)));
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(std::make_unique<SeedsEachTest>().release());
  return RUN_ALL_TESTS();
}
