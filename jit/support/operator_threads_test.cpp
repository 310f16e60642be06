#include "jit/support/operator_threads.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

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

TEST_F(OperatorThreadsTest, OperatorsOfAThreadThatIsToUseNoOtherRunOnItAlone) {
  OnThreadWith(4, [] {
    EXPECT_GT(ThreadsOfAnOperator().size(), 1u) << "what is looked at sees threads";
    UseThisThreadOnly();
    EXPECT_EQ(ThreadsOfAnOperator(), Ids{std::this_thread::get_id()});
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
