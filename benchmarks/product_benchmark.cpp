// What products of matrices take on one thread, by hearth's own kernels and by the BLAS that LibTorch brings: those
// that are not known beforehand, as attentions have them (kernels/strided_product.h; which of the two a processor is
// given, operators/plain_product.cpp, rests on this), and those of a packed matrix, as linear layers have them
// (kernels/product.h). Both take turns, with what the processor multiplies and adds at most (peak.h); of each, the
// median is shown.
//
//     MKL_NUM_THREADS=1 build/release/bin/product_benchmark [TURNS]
#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "benchmarks/peak.h"
#include "jit/kernels/product.h"
#include "jit/kernels/strided_product.h"
#include "jit/kernels/target.h"

extern "C" void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                       const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                       const float* beta, float* c, const int* ldc);

namespace {

using Clock = std::chrono::steady_clock;
using hearth::kernels::StridedProduct;
using hearth::kernels::StridedProductParts;

struct Case {
  const char* name;
  int batch, rows, inner, columns;
  bool transposed_left, transposed_right;  // in memory
  bool is_packed = false;                  // the right-hand side, beforehand
};

const Case kCases[] = {
    {"scores of 4 heads", 4, 196, 48, 196, false, true},
    {"values of 4 heads", 4, 196, 196, 48, false, false},
    {"scores of channels", 4, 48, 196, 48, true, false},
    {"windows of 49 tokens", 8, 49, 32, 49, false, true},
    {"values of windows", 8, 49, 49, 32, false, false},
    {"keys by values", 8, 16, 3136, 16, true, false},
    {"4 mixed heads", 1, 4, 4, 38416, false, false},
    {"100 small ones", 100, 16, 16, 16, false, false},
    {"few rows", 1, 4, 256, 256, false, false},
    {"few columns", 1, 300, 256, 4, false, false},
    {"a single row", 1, 1, 256, 256, false, true},
    {"a single column", 1, 300, 256, 1, false, false},
    {"large", 1, 512, 512, 512, false, false},
    {"vit_small, wider", 1, 197, 384, 1536, false, true, true},
    {"vit_small, narrower", 1, 197, 1536, 384, false, true, true},
    {"16 of bert_small, wider", 1, 2048, 256, 1024, false, true, true},
    {"16 of bert_small, narrower", 1, 2048, 1024, 256, false, true, true},
    {"16 of mixer_s16, tokens", 1, 8192, 196, 256, false, true, true},
    {"16 of mixer_s16, wider", 1, 3136, 512, 2048, false, true, true},
    {"16 of mixer_s16, narrower", 1, 3136, 2048, 512, false, true, true},
    {"16 of gpt2, words", 1, 2048, 768, 3072, false, true, true},
};

class Operands {
 public:
  explicit Operands(const Case& of)
      : of_(of),
        left_(at::randn({of.batch, of.rows, of.inner})),
        right_(at::randn({of.batch, of.inner, of.columns})),
        result_(at::empty({of.batch, of.rows, of.columns})) {
    if (!of.is_packed) return;
    packed_ = at::empty({hearth::kernels::PackedSize(of.inner, of.columns)});
    hearth::kernels::PackMatrix(right_.const_data_ptr<float>(), RightStrides().first, RightStrides().second, of.inner,
                                of.columns, packed_.mutable_data_ptr<float>());
  }

  void ByKernel() { of_.is_packed ? ByPacked() : ByStrided(); }

  void ByBlas() {
    const float one = 1, zero = 0;
    const int right_stride = of_.transposed_right ? of_.inner : of_.columns,
              left_stride = of_.transposed_left ? of_.rows : of_.inner;
    for (int i = 0; i < of_.batch; ++i) {
      sgemm_(of_.transposed_right ? "T" : "N", of_.transposed_left ? "T" : "N", &of_.columns, &of_.rows, &of_.inner,
             &one, right_[i].const_data_ptr<float>(), &right_stride, left_[i].const_data_ptr<float>(), &left_stride,
             &zero, result_[i].mutable_data_ptr<float>(), &of_.columns);
    }
  }

 private:
  // From a number to that of the next inner one, and of the next column.
  std::pair<int64_t, int64_t> RightStrides() const {
    return of_.transposed_right ? std::pair<int64_t, int64_t>{1, of_.inner}
                                : std::pair<int64_t, int64_t>{of_.columns, 1};
  }

  void ByPacked() {
    const hearth::kernels::Product product = {.rows = of_.rows,
                                              .inner = of_.inner,
                                              .columns = of_.columns,
                                              .left = left_.const_data_ptr<float>(),
                                              .left_stride = of_.inner,
                                              .packed = packed_.const_data_ptr<float>(),
                                              .result = result_.mutable_data_ptr<float>(),
                                              .result_stride = of_.columns};
    const hearth::kernels::ProductParts parts(product, 1, 1);
    for (int64_t i = 0; i < parts.count(); ++i) Multiply(product, parts[i]);
  }

  void ByStrided() {
    StridedProduct product = {
        .rows = of_.rows, .inner = of_.inner, .columns = of_.columns, .result_stride = of_.columns};
    product.left = {nullptr, of_.transposed_left ? 1 : of_.inner, of_.transposed_left ? of_.rows : 1};
    product.right = {nullptr, RightStrides().first, RightStrides().second};
    const StridedProductParts parts(product, of_.batch, 1);
    for (int64_t i = 0; i < parts.count(); ++i) {
      const int64_t number = parts.ProductOf(i);
      product.left.data = left_[number].const_data_ptr<float>();
      product.right.data = right_[number].const_data_ptr<float>();
      product.result = result_[number].mutable_data_ptr<float>();
      Multiply(product, parts[i]);
    }
  }

  const Case of_;
  const at::Tensor left_, right_, result_;
  at::Tensor packed_;
};

template <typename Function>
double MicrosecondsOf(int times, const Function& function) {
  const auto begin = Clock::now();
  for (int i = 0; i < times; ++i) function();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / times;
}

double MedianOf(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int turns = argc > 1 ? std::atoi(argv[1]) : 31;
  if (turns <= 0 || !hearth::kernels::HasVectors()) {
    std::fprintf(stderr, "product_benchmark [TURNS]: at least one turn, on a processor that has AVX2\n");
    return 2;
  }
  std::puts(
      "| product | sizes | kernel, us | of the peak | BLAS, us | of the peak | BLAS by kernel |\n"
      "| --- | --- | --- | --- | --- | --- | --- |");
  for (const Case& each : kCases) {
    Operands operands(each);
    const double work = 1.0 * each.batch * each.rows * each.inner * each.columns;
    const int times = std::max(static_cast<int>(3e6 / work), 1);
    std::vector<double> kernel, blas, peak;
    for (int turn = 0; turn < turns; ++turn) {
      kernel.push_back(MicrosecondsOf(times, [&] { operands.ByKernel(); }));
      blas.push_back(MicrosecondsOf(times, [&] { operands.ByBlas(); }));
      const hearth::benchmarks::Work most = hearth::benchmarks::MultiplyAndAddForAWhile();
      peak.push_back(1e-3 * most.time.count() / static_cast<double>(most.operations));
    }
    const double by_kernel = MedianOf(kernel), by_blas = MedianOf(blas), least = MedianOf(peak) * 2 * work;
    std::printf("| %s | %d of %dx%dx%d | %.2f | %.2f | %.2f | %.2f | %.2f |\n", each.name, each.batch, each.rows,
                each.inner, each.columns, by_kernel, least / by_kernel, by_blas, least / by_blas, by_blas / by_kernel);
  }
}
