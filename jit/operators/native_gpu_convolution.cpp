// Convolutions of images. Those on a GPU ask its library right away (device/gpu_convolutions.h), with an addition and a
// relu where the operator has them; what it does not compute, and all others, go LibTorch's way.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_convolution_ops.h>
#include <ATen/ops/conv2d_ops.h>
#include <ATen/ops/convolution_ops.h>
#include <ATen/ops/cudnn_convolution_add_relu_ops.h>
#include <ATen/ops/cudnn_convolution_relu_ops.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/device/gpu_convolutions.h"
#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/plain_tensor.h"

namespace hearth::native {
namespace {

// Of height and width, which one number may stand for both of; false: it is something else.
bool ReadPair(const IValue& list, std::array<int64_t, 2>& pair) {
  const std::vector<IValue>& numbers = Elements(list);
  if (numbers.size() != 1 && numbers.size() != 2) return false;
  pair = {Get<int64_t>(numbers.front()), Get<int64_t>(numbers.back())};
  return true;
}

// Stride, padding and dilation are operands one after the other. False: not two-dimensional.
bool ReadPairs(NativeArguments in, size_t first, ConvolutionSettings& settings) {
  return ReadPair(in[first], settings.stride) && ReadPair(in[first + 1], settings.padding) &&
         ReadPair(in[first + 2], settings.dilation);
}

// Null where no GPU's library may be asked, which is the rule on a CPU.
const GpuConvolutions* LibraryFor(const IValue& input) {
  if (!input.isTensor() || !input.toTensor().is_cuda()) return nullptr;
  if (!NoModeSeesOperators(c10::DispatchKey::AutocastCUDA)) return nullptr;
  return ConvolutionsOf(input.toTensor().device());
}

// Whether `out` was made.
bool Convolve(const GpuConvolutions& library, NativeArguments in, const IValue& bias, const at::Tensor* addend,
              ConvolutionSettings settings, IValue* out) {
  settings.waits_for_best = BestConvolutions::AreWanted();
  at::Tensor result = library.Convolve(in[0].toTensor(), in[1].toTensor(), OptionalTensorOf(bias), addend, settings);
  if (!result.defined()) return false;
  *out = std::move(result);
  return true;
}

// conv2d(Tensor input, Tensor weight, Tensor? bias, int[2] stride, int[2] padding, int[2] dilation, int groups)
void Conv2d(NativeArguments in, IValue* out) {
  if (const GpuConvolutions* library = LibraryFor(in[0])) {
    ConvolutionSettings settings{.groups = Get<int64_t>(in[6])};
    if (ReadPairs(in, 3, settings) && Convolve(*library, in, in[2], nullptr, settings, out)) return;
  }
  EntryOf<at::_ops::conv2d>().function(in, out);
}

// convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed,
//             int[] output_padding, int groups)
void Convolution(NativeArguments in, IValue* out) {
  if (const GpuConvolutions* library = LibraryFor(in[0]); library != nullptr && !Get<bool>(in[6])) {
    ConvolutionSettings settings{.groups = Get<int64_t>(in[8])};
    if (ReadPairs(in, 3, settings) && Convolve(*library, in, in[2], nullptr, settings, out)) return;
  }
  EntryOf<at::_ops::convolution>().function(in, out);
}

// The same with bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32 behind
void TracedConvolution(NativeArguments in, IValue* out) {
  if (const GpuConvolutions* library = LibraryFor(in[0]);
      library != nullptr && !Get<bool>(in[6]) && !Get<bool>(in[9]) && Get<bool>(in[11])) {
    ConvolutionSettings settings{.groups = Get<int64_t>(in[8]), .allows_tf32 = Get<bool>(in[12])};
    if (ReadPairs(in, 3, settings) && Convolve(*library, in, in[2], nullptr, settings, out)) return;
  }
  EntryOf<at::_ops::_convolution>().function(in, out);
}

// cudnn_convolution_relu(Tensor self, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation,
//                        int groups)
void ConvolutionRelu(NativeArguments in, IValue* out) {
  if (const GpuConvolutions* library = LibraryFor(in[0])) {
    ConvolutionSettings settings{.groups = Get<int64_t>(in[6]), .has_relu = true};
    if (ReadPairs(in, 3, settings) && Convolve(*library, in, in[2], nullptr, settings, out)) return;
  }
  EntryOf<at::_ops::cudnn_convolution_relu>().function(in, out);
}

// cudnn_convolution_add_relu(Tensor self, Tensor weight, Tensor z, Scalar? alpha, Tensor? bias, int[] stride,
//                            int[] padding, int[] dilation, int groups)
void ConvolutionAddRelu(NativeArguments in, IValue* out) {
  const bool adds_once = in[3].isNone() || (in[3].isScalar() && in[3].toScalar().equal(1));
  if (const GpuConvolutions* library = LibraryFor(in[0]); library != nullptr && adds_once) {
    ConvolutionSettings settings{.groups = Get<int64_t>(in[8]), .has_relu = true};
    if (ReadPairs(in, 5, settings) && Convolve(*library, in, in[4], &in[2].toTensor(), settings, out)) return;
  }
  EntryOf<at::_ops::cudnn_convolution_add_relu>().function(in, out);
}

constexpr NativeEntry kEntries[] = {
    {"aten::conv2d", Conv2d},
    {"aten::convolution", Convolution},
    {"aten::_convolution", TracedConvolution},
    {"aten::cudnn_convolution_relu", ConvolutionRelu},
    {"aten::cudnn_convolution_add_relu", ConvolutionAddRelu},
};

}  // namespace

std::span<const NativeEntry> GpuConvolutionNatives() { return kEntries; }

}  // namespace hearth::native
