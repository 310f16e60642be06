// What products of matrices take that are not known beforehand, as attentions have them, on one thread: by hearth's own
// kernel (kernels/strided_product.h), and by the BLAS that LibTorch brings. Both take turns; of each, the median is
// shown. Which of the two a processor is given (operators/plain_product.cpp) rests on this.
//
//     MKL_NUM_THREADS=1 build/release/bin/product_benchmark [TURNS]
#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

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
};

const Case kCases[] = {
    {"scores of 4 heads", 4, 196, 48, 196, false, true}, {"values of 4 heads", 4, 196, 196, 48, false, false},
    {"scores of channels", 4, 48, 196, 48, true, false}, {"windows of 49 tokens", 8, 49, 32, 49, false, true},
    {"values of windows", 8, 49, 49, 32, false, false},  {"keys by values", 8, 16, 3136, 16, true, false},
    {"4 mixed heads", 1, 4, 4, 38416, false, false},     {"100 small ones", 100, 16, 16, 16, false, false},
    {"few rows", 1, 4, 256, 256, false, false},          {"few columns", 1, 300, 256, 4, false, false},
    {"a single row", 1, 1, 256, 256, false, true},       {"a single column", 1, 300, 256, 1, false, false},
    {"large", 1, 512, 512, 512, false, false},
};

class Operands {
 public:
  explicit Operands(const Case& of)
      : of_(of),
        left_(at::randn({of.batch, of.rows, of.inner})),
        right_(at::randn({of.batch, of.inner, of.columns})),
        result_(at::empty({of.batch, of.rows, of.columns})) {}

  void ByKernel() {
    StridedProduct product = {
        .rows = of_.rows, .inner = of_.inner, .columns = of_.columns, .result_stride = of_.columns};
    product.left = {nullptr, of_.transposed_left ? 1 : of_.inner, of_.transposed_left ? of_.rows : 1};
    product.right = {nullptr, of_.transposed_right ? 1 : of_.columns, of_.transposed_right ? of_.inner : 1};
    const StridedProductParts parts(product, of_.batch, 1);
    for (int64_t i = 0; i < parts.count(); ++i) {
      const int64_t number = parts.ProductOf(i);
      product.left.data = left_[number].const_data_ptr<float>();
      product.right.data = right_[number].const_data_ptr<float>();
      product.result = result_[number].mutable_data_ptr<float>();
      Multiply(product, parts[i]);
    }
  }

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
  const Case of_;
  const at::Tensor left_, right_, result_;
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
  std::puts("| product | sizes | kernel, us | BLAS, us | BLAS by kernel |\n| --- | --- | --- | --- | --- |");
  for (const Case& each : kCases) {
    Operands operands(each);
    const double work = 1.0 * each.batch * each.rows * each.inner * each.columns;
    const int times = std::max(static_cast<int>(3e6 / work), 1);
    std::vector<double> kernel, blas;
    for (int turn = 0; turn < turns; ++turn) {
      kernel.push_back(MicrosecondsOf(times, [&] { operands.ByKernel(); }));
      blas.push_back(MicrosecondsOf(times, [&] { operands.ByBlas(); }));
    }
    const double by_kernel = MedianOf(kernel), by_blas = MedianOf(blas);
    std::printf("| %s | %d of %dx%dx%d | %.2f | %.2f | %.2f |\n", each.name, each.batch, each.rows, each.inner,
                each.columns, by_kernel, by_blas, by_blas / by_kernel);
  }
}
