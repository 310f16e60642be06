#include "jit/operators/plain_product.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "jit/kernels/strided_product.h"
#include "jit/kernels/target.h"
#include "jit/libraries/packed_weight.h"
#include "jit/operators/plain_tensor.h"
#include "jit/support/denormals.h"
#include "jit/support/operator_threads.h"
#include "jit/support/parallel_for.h"

// BLAS, as Fortran calls it, with 32-bit integers. LibTorch's library exports its own.
extern "C" void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                       const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                       const float* beta, float* c, const int* ldc);

namespace hearth::native {
namespace {

// Rows that were columns: of a model that keeps its weights the other way round.
bool IsTransposed(const at::Tensor& weight) {
  const c10::IntArrayRef sizes = weight.sizes(), strides = weight.strides();
  return sizes.size() == 2 && strides[0] == 1 && strides[1] == sizes[0] && sizes[0] > 1 && sizes[1] > 1;
}

bool IsDoneAlone(int64_t rows, int64_t inner, int64_t columns) {
  return IsSmallProduct(rows, inner, columns) && at::get_num_threads() > 1;
}

bool FitsBlas(int64_t size) { return size > 0 && size <= std::numeric_limits<int>::max(); }

bool IsPlainDense(const c10::IValue& value) {
  if (!value.isTensor()) return false;
  const at::Tensor& tensor = value.toTensor();
  return IsPlainFloat(tensor) && HasDefaultStrides(tensor);
}

bool IsPlainWeight(const c10::IValue& value) {
  return IsPlainDense(value) || (value.isTensor() && IsPlainFloat(value.toTensor()) && IsTransposed(value.toTensor()));
}

// How BLAS takes a matrix whose rows it would have as columns.
struct Layout {
  bool transposed;
  int leading;  // from one row to the next, or one column
};

std::optional<Layout> LayoutOf(const at::Tensor& tensor) {
  const auto rank = static_cast<size_t>(tensor.dim());
  const int64_t rows = tensor.sizes()[rank - 2], columns = tensor.sizes()[rank - 1];
  const int64_t down = tensor.strides()[rank - 2], along = tensor.strides()[rank - 1];
  if (!FitsBlas(rows) || !FitsBlas(columns)) return {};
  // What there is one of may have any stride.
  const auto leading = [](int64_t stride, int64_t count, int64_t least) -> std::optional<int> {
    if (count == 1) return static_cast<int>(least);
    return stride >= least && FitsBlas(stride) ? std::optional(static_cast<int>(stride)) : std::nullopt;
  };
  if (along == 1 || columns == 1) {
    if (const auto found = leading(down, rows, columns)) return Layout{false, *found};
  }
  if (down == 1 || rows == 1) {
    if (const auto found = leading(along, columns, rows)) return Layout{true, *found};
  }
  return {};
}

bool IsPlainMatrix(const c10::IValue& value) {
  return value.isTensor() && IsPlainFloat(value.toTensor()) && value.toTensor().dim() >= 2;
}

// Where matrix `number` of a batch begins.
int64_t OffsetOf(const at::Tensor& tensor, int64_t number) {
  int64_t offset = 0;
  for (auto i = static_cast<size_t>(tensor.dim()) - 2; i-- > 0;) {
    offset += number % tensor.sizes()[i] * tensor.strides()[i];
    number /= tensor.sizes()[i];
  }
  return offset;
}

// Whether BLAS multiplies faster than the kernel on this processor: MKL's best code is for Intel's alone
// (benchmarks/product_benchmark).
bool HasFastBlas() {
  static const bool is_intel = __builtin_cpu_is("intel") != 0;
  return is_intel || !kernels::HasVectors();
}

// As BLAS takes both operands.
struct Layouts {
  Layout left, right;
};

void MultiplyByBlas(const kernels::StridedProduct& product, const Layouts& layouts, const kernels::ProductPart& part) {
  const int64_t width = kernels::PanelColumns(), column = part.panel_begin * width;
  const float one = 1, zero = 0;
  // Fortran's matrices go by columns: the transposes of ours.
  const int m = static_cast<int>(std::min(part.panel_end * width, product.columns) - column),
            n = static_cast<int>(part.row_end - part.row_begin), k = static_cast<int>(product.inner),
            result_stride = static_cast<int>(product.result_stride);
  sgemm_(layouts.right.transposed ? "T" : "N", layouts.left.transposed ? "T" : "N", &m, &n, &k, &one,
         product.right.data + column * product.right.column_stride, &layouts.right.leading,
         product.left.data + part.row_begin * product.left.row_stride, &layouts.left.leading, &zero,
         product.result + part.row_begin * product.result_stride + column, &result_stride);
}

kernels::StridedMatrix LastMatrixOf(const at::Tensor& tensor) {
  const auto rank = static_cast<size_t>(tensor.dim());
  return {tensor.const_data_ptr<float>(), tensor.strides()[rank - 2], tensor.strides()[rank - 1]};
}

kernels::StridedProduct ProductOf(const at::Tensor& left, const at::Tensor& right, const at::Tensor& memory) {
  return {.rows = memory.sizes()[static_cast<size_t>(memory.dim()) - 2],
          .inner = left.sizes().back(),
          .columns = memory.sizes().back(),
          .left = LastMatrixOf(left),
          .right = LastMatrixOf(right),
          .result = memory.mutable_data_ptr<float>(),
          .result_stride = memory.sizes().back()};
}

// `any` but for where the matrices begin: of all in `memory`, which has the sizes and strides of the result. A single
// left-hand side is that of each. By BLAS if there are `layouts`.
void MultiplyOnThreads(const kernels::StridedProduct& any, const at::Tensor& left, const at::Tensor& right,
                       const std::optional<Layouts>& layouts, const at::Tensor& memory) {
  const int64_t size = any.rows * any.columns, batch = memory.numel() / size;
  const kernels::StridedProductParts alone(any, batch, 1);
  const int threads = ThreadsFor(alone.nanoseconds() * static_cast<double>(alone.count()));
  const kernels::StridedProductParts parts = threads == 1 ? alone : kernels::StridedProductParts(any, batch, threads);
  ParallelFor(parts.count(), parts.nanoseconds(), [&](int64_t begin, int64_t end) {
    const DenormalsAreZero fast;
    const OneBlasThread of_blas(layouts.has_value());
    for (int64_t i = begin; i < end; ++i) {
      const int64_t number = parts.ProductOf(i);
      kernels::StridedProduct one = any;
      one.left.data += OffsetOf(left, number);
      one.right.data += OffsetOf(right, number);
      one.result += number * size;
      if (layouts) {
        MultiplyByBlas(one, *layouts, parts[i]);
      } else {
        kernels::Multiply(one, parts[i]);
      }
    }
  });
}

}  // namespace

bool IsPlainProduct(const c10::IValue& input, const c10::IValue& weight, const c10::IValue& bias) {
  if (!IsPlainDense(input) || !IsPlainWeight(weight) || !(bias.isNone() || IsPlainDense(bias))) return false;
  const at::Tensor& x = input.toTensor();
  const at::Tensor& w = weight.toTensor();
  if (x.dim() < 1 || w.dim() != 2) return false;
  const int64_t columns = x.sizes().back(), outputs = w.sizes()[0];
  if (w.sizes()[1] != columns || !FitsBlas(columns) || !FitsBlas(outputs) || !FitsBlas(x.numel() / columns)) {
    return false;
  }
  if (!bias.isNone() && (bias.toTensor().dim() != 1 || bias.toTensor().sizes()[0] != outputs)) return false;
  return NoModeSeesOperators();
}

at::Tensor InMemory(c10::IntArrayRef sizes, const at::Tensor* memory) {
  const bool fits =
      memory != nullptr && memory->sizes() == sizes && IsPlainFloat(*memory) && HasDefaultStrides(*memory);
  return fits ? *memory : at::Tensor(at::detail::empty_cpu(sizes, at::kFloat));
}

at::Tensor ProductMemory(const at::Tensor& x, const at::Tensor& w, const at::Tensor* memory) {
  c10::SmallVector<int64_t, 6> sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = w.sizes()[0];
  return InMemory(sizes, memory);
}

at::Tensor PlainProduct(const at::Tensor& x, const at::Tensor& w, const c10::IValue& bias, const at::Tensor* memory) {
  const int64_t columns = x.sizes().back(), outputs = w.sizes()[0], rows = x.numel() / columns;
  at::Tensor result = ProductMemory(x, w, memory);
  float* to = result.mutable_data_ptr<float>();
  float beta = 0;
  if (!bias.isNone()) {
    const float* from = bias.toTensor().const_data_ptr<float>();
    for (int64_t row = 0; row < rows; ++row) std::copy_n(from, outputs, to + row * outputs);
    beta = 1;
  }
  // Fortran's matrices go by columns: the transposes of ours.
  const float alpha = 1;
  const int m = static_cast<int>(outputs), n = static_cast<int>(rows), k = static_cast<int>(columns);
  const bool transposed = IsTransposed(w);
  const OneBlasThread alone(IsDoneAlone(rows, columns, outputs));
  sgemm_(transposed ? "N" : "T", "N", &m, &n, &k, &alpha, w.const_data_ptr<float>(), transposed ? &m : &k,
         x.const_data_ptr<float>(), &k, &beta, to, &m);
  return result;
}

bool MultiplyInto(const c10::IValue& a, const c10::IValue& b, const at::Tensor& memory) {
  if (!IsPlainMatrix(a) || !IsPlainMatrix(b) || !IsPlainFloat(memory) || !HasDefaultStrides(memory)) return false;
  const at::Tensor& left = a.toTensor();
  const at::Tensor& right = b.toTensor();
  const auto rank = static_cast<size_t>(left.dim());
  if (right.sizes().size() != rank || memory.sizes().size() != rank) return false;
  const c10::IntArrayRef batch = left.sizes().slice(0, rank - 2);
  if (right.sizes().slice(0, rank - 2) != batch || memory.sizes().slice(0, rank - 2) != batch) return false;
  const int64_t rows = left.sizes()[rank - 2], inner = left.sizes()[rank - 1], columns = right.sizes()[rank - 1];
  if (right.sizes()[rank - 2] != inner || memory.sizes()[rank - 2] != rows || memory.sizes()[rank - 1] != columns) {
    return false;
  }
  if (!NoModeSeesOperators() || rows * columns == 0 || memory.numel() == 0) return false;
  std::optional<Layouts> layouts;
  // A single row or column is no work for the kernel, whose tiles are larger.
  if (HasFastBlas() || rows == 1 || columns == 1) {
    const std::optional<Layout> of_left = LayoutOf(left), of_right = LayoutOf(right);
    if (of_left && of_right) layouts = Layouts{*of_left, *of_right};
  }
  if (!layouts && !kernels::HasVectors()) return false;
  MultiplyOnThreads(ProductOf(left, right, memory), left, right, layouts, memory);
  return true;
}

at::Tensor PlainLeftProduct(const c10::IValue& weight, const c10::IValue& x, const c10::IValue& bias,
                            std::string_view epilogue, const at::Tensor* memory) {
  if (!kernels::HasVectors() || !NoModeSeesOperators()) return {};
  if (!IsPlainMatrix(weight) || !IsPlainMatrix(x) || !(bias.isNone() || IsPlainDense(bias))) return {};
  const at::Tensor& left = weight.toTensor();
  const at::Tensor& right = x.toTensor();
  const std::optional<libraries::KernelEpilogue> following = libraries::KernelEpilogueOf(epilogue);
  if (left.dim() != 2 || left.sizes()[1] != right.size(-2) || !following || following->adds) return {};
  if (!bias.isNone() && bias.toTensor().sizes() != left.sizes().slice(0, 1)) return {};
  c10::SmallVector<int64_t, 6> sizes(right.sizes().begin(), right.sizes().end());
  sizes[sizes.size() - 2] = left.sizes()[0];
  at::Tensor result = InMemory(sizes, memory);
  if (result.numel() == 0) return result;
  kernels::StridedProduct product = ProductOf(left, right, result);
  if (!bias.isNone()) product.row_bias = bias.toTensor().const_data_ptr<float>();
  product.activation = following->activation;
  product.slope = following->slope;
  MultiplyOnThreads(product, left, right, {}, result);
  return result;
}

}  // namespace hearth::native
