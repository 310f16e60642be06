#include "jit/device/cuda/blas.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/SmallVector.h>
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

#include "jit/device/choice_table.h"
#include "jit/device/cuda/of_each_gpu.h"
#include "jit/device/cuda/plain_on.h"

namespace hearth {
namespace {

// What the library may use beside operands and result; LibTorch gives it as much on Hopper.
constexpr size_t kMostWorkspace = size_t{32} << 20;
// Of addresses, as far as kernels care.
constexpr uint64_t kMostAlignment = 256;
constexpr uint64_t kLeastBiasAlignment = 16;

void Check(cublasStatus_t status, const char* what) {
  TORCH_CHECK(status == CUBLAS_STATUS_SUCCESS, what, " failed: ", cublasLtGetStatusString(status));
}

// A kernel of the library's and the memory that it needs. Immutable.
struct Choice {
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace_bytes;
};

// What the choice depends on. Sizes as the library has them, whose matrices lie column after column: `columns` of the
// weight are its rows.
struct Key {
  int64_t rows, inner, columns;
  uint8_t type;        // cudaDataType_t
  uint8_t compute;     // cublasComputeType_t
  bool is_transposed;  // the weight lies [inner, columns]
  bool has_bias;
  bool has_relu;
  std::array<uint8_t, 3> alignments;  // logarithms: of weight, input and result
  bool operator==(const Key&) const = default;
};

uint64_t HashOf(const Key& key) {
  ChoiceHash hash;
  hash.Add(static_cast<uint64_t>(key.rows));
  hash.Add(static_cast<uint64_t>(key.inner));
  hash.Add(static_cast<uint64_t>(key.columns));
  hash.Add(uint64_t{key.type} | uint64_t{key.compute} << 8U | uint64_t{key.is_transposed} << 16U |
           uint64_t{key.has_bias} << 17U | uint64_t{key.has_relu} << 18U | uint64_t{key.alignments[0]} << 24U |
           uint64_t{key.alignments[1]} << 32U | uint64_t{key.alignments[2]} << 40U);
  return hash.value();
}

uint8_t AlignmentOf(const void* address) {
  return static_cast<uint8_t>(std::countr_zero(reinterpret_cast<uint64_t>(address) | kMostAlignment));
}

std::optional<cudaDataType_t> TypeOf(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::kHalf:
      return CUDA_R_16F;
    case c10::kBFloat16:
      return CUDA_R_16BF;
    case c10::kFloat:
      return CUDA_R_32F;
    default:
      return {};
  }
}

bool IsMatrixTransposed(const at::Tensor& matrix) {
  const c10::IntArrayRef sizes = matrix.sizes(), strides = matrix.strides();
  return strides[0] == 1 && strides[1] == sizes[0];
}

// What one call asks for, on the stack: descriptions are small, and the library reads them in no time.
class Description {
 public:
  Description(const Key& key, const void* bias) {
    const auto type = static_cast<cudaDataType_t>(key.type);
    Check(cublasLtMatmulDescInit(&product_, static_cast<cublasComputeType_t>(key.compute), CUDA_R_32F), "cuBLASLt");
    if (!key.is_transposed) Set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    if (key.has_relu) {
      Set(CUBLASLT_MATMUL_DESC_EPILOGUE, key.has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU);
    } else if (key.has_bias) {
      Set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    }
    if (key.has_bias) Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    const int64_t weight_rows = key.is_transposed ? key.columns : key.inner;
    const int64_t weight_columns = key.is_transposed ? key.inner : key.columns;
    Lay(&weight_, type, weight_rows, weight_columns);
    Lay(&input_, type, key.inner, key.rows);
    Lay(&result_, type, key.columns, key.rows);
  }

  cublasLtMatmulDesc_t product() { return &product_; }
  cublasLtMatrixLayout_t weight() { return &weight_; }
  cublasLtMatrixLayout_t input() { return &input_; }
  cublasLtMatrixLayout_t result() { return &result_; }

 private:
  template <typename T>
  void Set(cublasLtMatmulDescAttributes_t attribute, T value) {
    Check(cublasLtMatmulDescSetAttribute(&product_, attribute, &value, sizeof value), "cuBLASLt");
  }
  static void Lay(cublasLtMatrixLayout_t layout, cudaDataType_t type, int64_t rows, int64_t columns) {
    Check(cublasLtMatrixLayoutInit(layout, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), rows),
          "cuBLASLt");
  }

  cublasLtMatmulDescOpaque_t product_;
  cublasLtMatrixLayoutOpaque_t weight_, input_, result_;
};

class CublasLt final : public GpuBlas {
 public:
  explicit CublasLt(c10::DeviceIndex device) : device_(c10::kCUDA, device) {
    const c10::cuda::CUDAGuard guard(device);
    Check(cublasLtCreate(&handle_), "cublasLtCreate");
  }

  at::Tensor Linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor* bias,
                    bool has_relu) const override {
    const c10::ScalarType dtype = weight.scalar_type();
    const std::optional<cudaDataType_t> type = TypeOf(dtype);
    if (!type || c10::cuda::current_device() != device_.index()) return {};
    if (!IsPlainOn(input, device_, dtype) || !IsPlainOn(weight, device_, dtype) || !input.is_contiguous()) return {};
    if (input.dim() == 0 || weight.dim() != 2 || input.numel() == 0 || weight.numel() == 0) return {};
    const int64_t inner = weight.sizes()[1], columns = weight.sizes()[0];
    if (input.sizes().back() != inner) return {};
    const bool is_transposed = !weight.is_contiguous();
    if (is_transposed && !IsMatrixTransposed(weight)) return {};
    if (bias != nullptr && (!IsPlainOn(*bias, device_, dtype) || bias->dim() != 1 || bias->sizes()[0] != columns ||
                            !bias->is_contiguous())) {
      return {};
    }
    const void* const added = bias != nullptr ? bias->const_data_ptr() : nullptr;
    if (reinterpret_cast<uint64_t>(added) % kLeastBiasAlignment != 0) return {};

    c10::SmallVector<int64_t, 6> sizes(input.sizes().begin(), input.sizes().end());
    sizes.back() = columns;
    c10::Allocator* const allocator = c10::cuda::CUDACachingAllocator::get();
    at::Tensor result(
        at::detail::empty_generic(sizes, allocator, c10::DispatchKeySet(c10::DispatchKey::CUDA), dtype, std::nullopt));
    void* const to = result.mutable_data_ptr();
    const Key key{
        .rows = input.numel() / inner,
        .inner = inner,
        .columns = columns,
        .type = static_cast<uint8_t>(*type),
        .compute = ComputeTypeOf(dtype),
        .is_transposed = is_transposed,
        .has_bias = bias != nullptr,
        .has_relu = has_relu,
        .alignments = {AlignmentOf(weight.const_data_ptr()), AlignmentOf(input.const_data_ptr()), AlignmentOf(to)}};
    Description description(key, added);
    std::optional<Choice> own;
    const Choice* choice = choices_.Find(key);
    if (choice == nullptr) {
      own = Choose(key, description);
      if (!own) return {};
      choices_.Add(key, *own);
      choice = &*own;
    }
    const at::DataPtr workspace =
        choice->workspace_bytes > 0 ? allocator->allocate(choice->workspace_bytes) : at::DataPtr();
    const float one = 1, zero = 0;
    Check(cublasLtMatmul(handle_, description.product(), &one, weight.const_data_ptr(), description.weight(),
                         input.const_data_ptr(), description.input(), &zero, to, description.result(), to,
                         description.result(), &choice->algorithm, workspace.get(), choice->workspace_bytes,
                         c10::cuda::getCurrentCUDAStream(device_.index()).stream()),
          "cublasLtMatmul");
    return result;
  }

 private:
  // What LibTorch's products compute with.
  static uint8_t ComputeTypeOf(c10::ScalarType dtype) {
    const bool rounds = dtype == c10::kFloat && at::globalContext().allowTF32CuBLAS();
    return static_cast<uint8_t>(rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F);
  }

  // The library's own estimate; null where it has nothing.
  std::optional<Choice> Choose(const Key& key, Description& description) const {
    cublasLtMatmulPreferenceOpaque_t preference;
    Check(cublasLtMatmulPreferenceInit(&preference), "cuBLASLt");
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      Check(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value), "cuBLASLt");
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{kMostWorkspace});
    const auto bytes = [&](size_t i) { return uint32_t{1} << key.alignments[i]; };
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, bytes(0));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, bytes(1));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, bytes(2));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, bytes(2));
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle_, description.product(), description.weight(), description.input(), description.result(),
        description.result(), &preference, /*requestedAlgoCount=*/1, &best, &found);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0) return {};
    return Choice{best.algo, best.workspaceSize};
  }

  const c10::Device device_;
  cublasLtHandle_t handle_ = nullptr;
  mutable ChoiceTable<Key, Choice, HashOf> choices_;
};

}  // namespace

GpuBlas* BlasOfGpu(c10::DeviceIndex device) { return &OfGpu<CublasLt>(device); }

}  // namespace hearth
