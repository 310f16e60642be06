#include "jit/support/operator_threads.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hearth {
namespace {

using Ids = std::set<std::thread::id>;

// The threads that an operator of LibTorch's runs on.
Ids ThreadsOfAnOperator() {
  at::Tensor x = at::zeros({1 << 16});
  at::TensorIterator iterator = at::TensorIterator::nullary_op(x);
  Ids ids;
  std::mutex mutex;
  iterator.for_each(
      [&](char**, const int64_t*, int64_t, int64_t) {
        const std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
      },
      /*grain_size=*/1);
  return ids;
}

class OperatorThreadsTest : public testing::Test {
 protected:
  // On a thread whose operators run on `count` threads.
  static void OnThreadWith(int count, const std::function<void()>& test) {
    std::thread([&] {
      // LibTorch's own call is for this thread and for those that begin later.
      at::set_num_threads(count);
      test();
    }).join();
  }
  void TearDown() override { at::set_num_threads(before_); }

  const int before_ = at::get_num_threads();
};

double SecondsOf(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool Sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  return text.substr(text.rfind(')') + 2, 1) == "S";
}

TEST_F(OperatorThreadsTest, AThreadThatHelpedAnOperatorSleepsAtOnce) {
  LetIdleTeamsSleep();
  OnThreadWith(2, [] {
    std::atomic<pid_t> helper{0};
    std::atomic<clockid_t> clock{0};
    std::atomic<double> worked{0};
    at::Tensor x = at::zeros({1 << 16});
    at::TensorIterator iterator = at::TensorIterator::nullary_op(x);
    iterator.for_each(
        [&, caller = gettid()](char**, const int64_t*, int64_t, int64_t) {
          if (gettid() == caller) return;
          helper = gettid();
          clockid_t own{};
          pthread_getcpuclockid(pthread_self(), &own);
          clock = own;
          worked = SecondsOf(own);
        },
        /*grain_size=*/1);
    ASSERT_NE(helper, 0);
    while (!Sleeps(helper)) std::this_thread::yield();
    // Time on a processor, whatever else runs. Where it spins, that is for several milliseconds.
    EXPECT_LT(SecondsOf(clock) - worked, 1e-3);
  });
}

TEST_F(OperatorThreadsTest, ATeamIsWhatTheNumberOfRunsLeavesAndNeverMoreThanAllTogether) {
  OnThreadWith(16, [] {
    OperatorTeam team;
    const auto with = [&](int runs) {
      team.ShareWith(runs);
      return at::get_num_threads();
    };
    EXPECT_EQ(with(1), 16);
    EXPECT_EQ(with(5), 1);
    EXPECT_EQ(with(16), 1);
    EXPECT_EQ(with(40), 1);
    EXPECT_EQ(with(1), 16) << "one thread is no other team";
    EXPECT_EQ(with(2), 4);
    EXPECT_EQ(with(4), 4);
    EXPECT_EQ(with(1), 4) << "the team became smaller a moment ago";
    std::this_thread::sleep_for(OperatorTeam::kHold);
    EXPECT_EQ(with(1), 16);
    team.Use(1);
    EXPECT_EQ(at::get_num_threads(), 1);
    EXPECT_EQ(with(1), 16);
  });
  EXPECT_EQ(OperatorThreadCounts(1), std::vector<int>{1});
  EXPECT_EQ(OperatorThreadCounts(2), (std::vector<int>{2, 1}));
  EXPECT_EQ(OperatorThreadCounts(48), (std::vector<int>{48, 12, 3, 1}));
}

TEST_F(OperatorThreadsTest, ProductsOfMatricesHaveTheTeamsThreads) {
  if (!at::hasMKL()) GTEST_SKIP() << "this LibTorch has another BLAS";
  OnThreadWith(4, [] {
    OperatorTeam team;
    team.ShareWith(4);
    EXPECT_NE(at::get_parallel_info().find("mkl_get_max_threads() : 1"), std::string::npos) << at::get_parallel_info();
  });
}

TEST_F(OperatorThreadsTest, OperatorsOfAThreadThatIsToUseNoOtherRunOnItAlone) {
  OnThreadWith(4, [] {
    EXPECT_GT(ThreadsOfAnOperator().size(), 1u) << "what is looked at sees threads";
    UseThisThreadOnly();
    EXPECT_EQ(ThreadsOfAnOperator(), Ids{std::this_thread::get_id()});
  });
}

TEST_F(OperatorThreadsTest, WhereOperatorsOfLibTorchHaveOneThreadOthersHaveTheirs) {
  OnThreadWith(3, [] {
    {
      const OneOperatorThread alone;
      EXPECT_EQ(at::get_num_threads(), 1);
      EXPECT_EQ(OperatorThreads(), 3);
      const OneOperatorThread within;
      EXPECT_EQ(OperatorThreads(), 3);
    }
    EXPECT_EQ(at::get_num_threads(), 3);
    EXPECT_EQ(OperatorThreads(), 3);
    UseThisThreadOnly();
    const OneOperatorThread alone;
    EXPECT_EQ(OperatorThreads(), 1);
  });
}

TEST_F(OperatorThreadsTest, WorkAsIfOnManyThreadsIsDoneByOne) {
  OnThreadWith(4, [] {
    UseThisThreadOnly();
    Ids ids;
    AsIfOnThreads(4, [&] {
      EXPECT_EQ(at::get_num_threads(), 4);
      ids = ThreadsOfAnOperator();
    });
    EXPECT_EQ(ids, Ids{std::this_thread::get_id()});
    EXPECT_EQ(at::get_num_threads(), 1);
    EXPECT_EQ(ThreadsOfAnOperator(), Ids{std::this_thread::get_id()});
  });
}

TEST_F(OperatorThreadsTest, WhatTheWorkThrowsComesOut) {
  OnThreadWith(1, [] {
    EXPECT_THROW(AsIfOnThreads(3, [] { throw std::runtime_error("no"); }), std::runtime_error);
    EXPECT_EQ(at::get_num_threads(), 1);
  });
}

// How the library that computes convolutions would have a weight, for images of that many pixels on a side.
std::string Packed(const at::Tensor& weight, int64_t side) {
  const auto call = [](const char* name, torch::jit::Stack stack) {
    c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(stack);
    return stack.at(0);
  };
  using Numbers = std::vector<int64_t>;
  const at::Tensor packed =
      call("mkldnn::_reorder_convolution_weight",
           {weight, Numbers{1, 1}, Numbers{1, 1}, Numbers{1, 1}, 1, Numbers{1, weight.size(1), side, side}})
          .toTensor();
  const auto address = static_cast<uintptr_t>(call("mkldnn::data_ptr", {packed}).toInt());
  return {reinterpret_cast<const char*>(address), static_cast<size_t>(call("mkldnn::_nbytes", {packed}).toInt())};
}

TEST_F(OperatorThreadsTest, ProductsOfMatricesRunOnTheirThreadAloneWhereItAsksForThat) {
  if (!at::hasMKL()) GTEST_SKIP() << "this LibTorch has another BLAS";
  const auto can_use = [](int count) {
    return at::get_parallel_info().find("mkl_get_max_threads() : " + std::to_string(count)) != std::string::npos;
  };
  OnThreadWith(4, [&] {
    EXPECT_TRUE(can_use(4)) << at::get_parallel_info();
    {
      const OneBlasThread alone;
      EXPECT_TRUE(can_use(1)) << at::get_parallel_info();
    }
    EXPECT_TRUE(can_use(4)) << at::get_parallel_info();
  });
}

TEST_F(OperatorThreadsTest, LibrariesChooseFormatsAsOnManyThreads) {
  if (!at::hasMKLDNN()) GTEST_SKIP() << "this LibTorch has no such library";
  const at::Tensor weight = at::randn({128, 128, 3, 3});
  const std::vector<int64_t> sides = {7, 14, 28, 56};
  for (const int count : {2, 4, 16}) {
    std::vector<std::string> wanted;
    OnThreadWith(count, [&] {
      for (const int64_t side : sides) wanted.push_back(Packed(weight, side));
    });
    OnThreadWith(1, [&] {
      for (size_t i = 0; i < sides.size(); ++i) {
        std::string packed;
        AsIfOnThreads(count, [&] { packed = Packed(weight, sides[i]); });
        EXPECT_EQ(packed, wanted[i]) << count << " threads, " << sides[i] << " pixels";
      }
    });
  }
}

}  // namespace
}  // namespace hearth
