// Kernels whose code is written here by hand: what a call makes of its operands before and around them.
#include "jit/fuser/runtime/fused_kernel.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace hearth::fuser {
namespace {

using c10::IValue;
using testing::HasSubstr;
using Symbol = KernelSignature::Symbol;

// Symbols: rows, columns, a number to add. y[i, j] = x[i, j] * weights[j] + number, by way of the scratch memory.
void ScaledSizes(const int64_t* symbols, int64_t* out) {
  out[0] = symbols[0];
  out[1] = 2 * symbols[1];
  out[2] = symbols[1] * static_cast<int64_t>(sizeof(float));
}
// Where rows wait until a second thread has come, if they are to.
class Meeting {
 public:
  void Wait() {
    std::unique_lock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    changed_.notify_all();
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return threads_.size() > 1; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::thread::id> threads_;
};
Meeting* meeting = nullptr;

void ScaledRows(void* const* buffers, const int64_t* symbols, int64_t begin, int64_t end, void* scratch) {
  const auto* x = static_cast<const float*>(buffers[0]);
  const auto* weights = static_cast<const float*>(buffers[1]);
  auto* y = static_cast<float*>(buffers[2]);
  auto* row = static_cast<float*>(scratch);
  const int64_t columns = symbols[1];
  if (meeting != nullptr) meeting->Wait();
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < columns; ++j) row[j] = x[i * columns + j] * weights[j];
    for (int64_t j = 0; j < columns; ++j)
      y[i * columns + j] = row[j] + static_cast<float>(std::bit_cast<double>(symbols[2]));
  }
}

class FusedKernelTest : public testing::Test {
 protected:
  static KernelSignature ScaledSignature() {
    KernelSignature signature;
    // Of x [2, 1, 3, 4] in the order N, H, W, C: its pixels are rows, its channels columns.
    const KernelSignature::Tensor images{c10::kFloat, {0, 3, 1, 2}, {0, 2, 3, 1}};
    signature.extents = {{0, 0}, {0, 2}, {0, 3}, {0, 1}};
    signature.inputs = {{1, images}, {2, {c10::kFloat, {3, KernelSignature::kOne, KernelSignature::kOne}, {0, 1, 2}}}};
    signature.outputs = {images};
    signature.symbols = {
        {Symbol::Kind::kProduct, {0, 1, 2}, 0}, {Symbol::Kind::kProduct, {3}, 0}, {Symbol::Kind::kReal, {}, 3}};
    return signature;
  }

  FusedKernelTest() {
    auto code = std::make_shared<KernelCode>();
    code->loops = {ScaledRows};
    code->sizes = ScaledSizes;
    kernel_ = FusedKernel::Wrap(c10::make_intrusive<FusedKernel>(ScaledSignature(), "scaled", std::move(code)));
  }

  at::Tensor Call(const IValue& x, const IValue& weights, const IValue& number) const {
    const std::vector<const IValue*> operands{&kernel_, &x, &weights, &number};
    IValue result;
    FusedKernel::Of(operands).Run(operands, &result);
    return result.toTensor();
  }
  std::string ErrorOf(const IValue& x, const IValue& weights) const {
    try {
      Call(x, weights, 0.5);
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "";
  }

  IValue kernel_;
};

at::Tensor Images(int64_t n, int64_t c, int64_t h, int64_t w) {
  return at::arange(n * c * h * w, at::kFloat).view({n, c, h, w}).contiguous(at::MemoryFormat::ChannelsLast);
}

TEST_F(FusedKernelTest, ResultsHaveTheSizesAndTheOrderThatTheSignatureSays) {
  const at::Tensor x = Images(2, 5, 3, 4), weights = at::arange(5, at::kFloat).view({5, 1, 1});
  const at::Tensor y = Call(x, weights, 0.25);
  EXPECT_TRUE(at::equal(y, x * weights + 0.25));
  EXPECT_EQ(y.strides(), x.strides());
}

TEST_F(FusedKernelTest, ManyRoundsAreSharedOutToThreads) {
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  Meeting of_threads;
  meeting = &of_threads;
  const at::Tensor x = Images(7, 64, 33, 31), weights = at::arange(64, at::kFloat).view({64, 1, 1});
  EXPECT_TRUE(at::equal(Call(x, weights, 1.5), x * weights + 1.5));
  meeting = nullptr;
  at::set_num_threads(before);
}

TEST_F(FusedKernelTest, NoElementsAreNoRounds) {
  EXPECT_EQ(Call(Images(0, 5, 3, 4), at::ones({5, 1, 1}), 0.5).sizes(), at::IntArrayRef({0, 5, 3, 4}));
}

TEST_F(FusedKernelTest, OperandsThatTheCodeDoesNotExpectAreRefused) {
  const at::Tensor x = Images(2, 5, 3, 4), weights = at::ones({5, 1, 1});
  EXPECT_EQ(ErrorOf(x, weights), "");
  EXPECT_THAT(ErrorOf(x.to(at::kDouble), weights), HasSubstr("operand 1 of a fused kernel is Double, expected Float"));
  EXPECT_THAT(ErrorOf(x, at::ones({4, 1, 1})), HasSubstr("sizes [4, 1, 1], of which number 0 is another one"));
  EXPECT_THAT(ErrorOf(x, at::ones({5, 3, 1})), HasSubstr("of which number 1 is another one"));
  EXPECT_THAT(ErrorOf(x, at::ones({5, 1})), HasSubstr("has 2 dimensions, expected 3"));
  EXPECT_THAT(ErrorOf(x[0], weights), HasSubstr("has 3 dimensions, expected 4"));
  EXPECT_THAT(ErrorOf(x.contiguous(), weights), HasSubstr("which is another layout"));
  EXPECT_THAT(ErrorOf(1, weights), HasSubstr("operand 1 of a fused kernel is no tensor"));
}

// Of 6 columns at the operand's 4, whose number and the result's are in the signature.
TEST_F(FusedKernelTest, AnOperandMayHaveOtherSizesThanTheResult) {
  KernelSignature signature;
  signature.extents = {{KernelSignature::kNoInput, 0, 4}, {KernelSignature::kNoInput, 0, 6}, {0, 0}};
  signature.inputs = {{1, {c10::kFloat, {2, 0}, {0, 1}}}};
  signature.outputs = {{c10::kFloat, {2, 1}, {0, 1}}};
  signature.symbols = {
      {Symbol::Kind::kProduct, {2}, 0}, {Symbol::Kind::kProduct, {0}, 0}, {Symbol::Kind::kProduct, {1}, 0}};
  auto code = std::make_shared<KernelCode>();
  code->loops = {[](void* const* buffers, const int64_t* symbols, int64_t begin, int64_t end, void*) {
    const auto* x = static_cast<const float*>(buffers[0]);
    auto* y = static_cast<float*>(buffers[1]);
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < symbols[2]; ++j) y[i * symbols[2] + j] = j < symbols[1] ? x[i * symbols[1] + j] : 0;
    }
  }};
  code->sizes = [](const int64_t* symbols, int64_t* out) {
    out[0] = symbols[0];
    out[1] = symbols[2];
    out[2] = 0;
  };
  kernel_ = FusedKernel::Wrap(c10::make_intrusive<FusedKernel>(std::move(signature), "padded", std::move(code)));
  const at::Tensor x = at::arange(12, at::kFloat).view({3, 4});
  EXPECT_TRUE(at::equal(Call(x, x, 0), at::constant_pad_nd(x, {0, 2})));
  EXPECT_EQ(ErrorOf(x, x), "");
  EXPECT_THAT(ErrorOf(x.view({4, 3}), x), HasSubstr("sizes [4, 3], of which number 1 is another one"));
  EXPECT_THAT(ErrorOf(x.view({2, 6}), x), HasSubstr("sizes [2, 6], of which number 1 is another one"));
}

TEST_F(FusedKernelTest, ANodeWithoutAKernelIsRefused) {
  const IValue number = 1;
  const std::vector<const IValue*> operands{&number};
  EXPECT_THROW(FusedKernel::Of(operands), c10::Error);
  EXPECT_THROW(FusedKernel::Of({}), c10::Error);
}

}  // namespace
}  // namespace hearth::fuser
