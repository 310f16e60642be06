#include "jit/operators/guards.h"

#include <ATen/core/Tensor.h>
#include <ATen/native/quantized/PackedParams.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/sum.h>

#include <tuple>
#include <unordered_map>
#include <utility>

namespace hearth {
namespace {

using torch::jit::Stack;

// `at(i)` is the operator's argument i.
class Arguments {
 public:
  Arguments(Stack& stack, size_t count) : first_(stack.end() - static_cast<std::ptrdiff_t>(count)) {}
  c10::IValue& operator[](size_t i) const { return first_[static_cast<std::ptrdiff_t>(i)]; }

 private:
  Stack::iterator first_;
};

struct Guard {
  size_t arguments;
  void (*check)(const Arguments& arguments);
};

// That every element lies in [least, most].
void RequireWithin(const at::Tensor& tensor, int64_t least, int64_t most, const char* what) {
  if (tensor.numel() == 0) return;
  const auto [low, high] = at::aminmax(tensor);
  TORCH_CHECK(low.item<int64_t>() >= least && high.item<int64_t>() <= most, what, " must lie between ", least, " and ",
              most, ", but go from ", low.item<int64_t>(), " to ", high.item<int64_t>());
}

// Labels index the classes.
void CheckCtcLoss(const Arguments& arguments) {
  const at::Tensor& log_probs = arguments[0].toTensor();
  const at::Tensor& targets = arguments[1].toTensor();
  if (log_probs.dim() == 0) return;
  RequireWithin(targets, 0, log_probs.size(-1) - 1, "ctc_loss: targets");
}

// What the caller says is right is believed as far as it stays within the data.
void CheckSegmentReduce(const Arguments& arguments) {
  if (!arguments[6].toBool()) return;
  const at::Tensor& data = arguments[0].toTensor();
  const int64_t axis = arguments[5].toInt();
  if (axis < 0 || axis >= data.dim()) return;  // what LibTorch refuses itself
  const int64_t size = data.size(axis);
  if (const c10::IValue& lengths = arguments[2]; lengths.isTensor() && lengths.toTensor().dim() > 0) {
    RequireWithin(lengths.toTensor(), 0, size, "segment_reduce: lengths");
    RequireWithin(lengths.toTensor().sum(-1), 0, size, "segment_reduce: sums of lengths");
  }
  if (const c10::IValue& offsets = arguments[4]; offsets.isTensor()) {
    RequireWithin(offsets.toTensor(), 0, size, "segment_reduce: offsets");
  }
}

// Pivots index rows, from 1; two equal negative ones are a block.
void CheckLdlSolve(const Arguments& arguments) {
  const at::Tensor& factors = arguments[0].toTensor();
  const at::Tensor& pivots = arguments[1].toTensor();
  if (factors.dim() < 2 || !at::isIntegralType(pivots.scalar_type(), /*includeBool=*/false)) return;
  RequireWithin(pivots.abs(), 1, factors.size(-2), "linalg_ldl_solve: pivots, but for their signs,");
}

void CheckSparse(const c10::IValue& indices_value, const c10::IValue& size_value) {
  const at::Tensor& indices = indices_value.toTensor();
  const std::vector<int64_t> size = size_value.toIntVector();
  if (indices.dim() != 2 || static_cast<size_t>(indices.size(0)) > size.size() || indices.scalar_type() != at::kLong) {
    return;  // what LibTorch refuses itself
  }
  for (int64_t i = 0; i < indices.size(0); ++i) {
    RequireWithin(indices[i], 0, size[static_cast<size_t>(i)] - 1, "the indices of a sparse tensor");
  }
}

void CheckSparseTensor(const Arguments& arguments) { CheckSparse(arguments[0], arguments[2]); }
void CheckSparseTensorWithDimensions(const Arguments& arguments) { CheckSparse(arguments[3], arguments[2]); }

// Weights that were packed for a CPU are read there. What is packed for a GPU unpacks at no cost.
template <typename Packed>
void CheckPackedWeights(const Arguments& arguments) {
  const c10::Device device = arguments[0].toTensor().device();
  if (device.is_cpu()) return;
  const c10::Device packed_for = std::get<0>(arguments[1].toCustomClass<Packed>()->unpack()).device();
  TORCH_CHECK(packed_for == device, "a quantized layer has its weights packed for ", packed_for,
              ", and its input is on ", device);
}

const Guard* FindGuard(std::string_view name) {
  static const std::unordered_map<std::string_view, Guard> kGuards = {
      {"aten::_ctc_loss", {6, CheckCtcLoss}},
      {"aten::_ctc_loss.Tensor", {6, CheckCtcLoss}},
      {"aten::ctc_loss.IntList", {7, CheckCtcLoss}},
      {"aten::ctc_loss.Tensor", {7, CheckCtcLoss}},
      {"quantized::conv1d", {4, CheckPackedWeights<ConvPackedParamsBase<2>>}},
      {"quantized::conv1d_relu", {4, CheckPackedWeights<ConvPackedParamsBase<2>>}},
      {"quantized::conv2d.new", {4, CheckPackedWeights<ConvPackedParamsBase<2>>}},
      {"quantized::conv2d_relu.new", {4, CheckPackedWeights<ConvPackedParamsBase<2>>}},
      {"quantized::linear", {4, CheckPackedWeights<LinearPackedParamsBase>}},
      {"quantized::linear_relu", {4, CheckPackedWeights<LinearPackedParamsBase>}},
      {"aten::segment_reduce", {8, CheckSegmentReduce}},
      {"aten::linalg_ldl_solve", {4, CheckLdlSolve}},
      {"aten::linalg_ldl_solve.out", {5, CheckLdlSolve}},
      {"aten::sparse_coo_tensor.indices_size", {8, CheckSparseTensor}},
      {"aten::_sparse_coo_tensor_unsafe", {8, CheckSparseTensor}},
      {"aten::_sparse_coo_tensor_with_dims_and_tensors", {10, CheckSparseTensorWithDimensions}},
  };
  const auto found = kGuards.find(name);
  return found == kGuards.end() ? nullptr : &found->second;
}

}  // namespace

torch::jit::Operation Guarded(std::string_view name, torch::jit::Operation operation) {
  const Guard* guard = FindGuard(name);
  if (guard == nullptr) return operation;
  return torch::jit::Operation([guard, operation = std::move(operation)](Stack& stack) mutable {
    guard->check(Arguments(stack, guard->arguments));
    operation(stack);
  });
}

}  // namespace hearth
