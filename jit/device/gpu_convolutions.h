// Convolutions of images by a GPU's own library (cuDNN), asked right away, with what follows them in the same kernel.
// LibTorch's operators keep what the library planned for given sizes thread by thread, so that every thread pays for it
// again, and go through the dispatcher several times before.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <array>
#include <cstdint>

namespace hearth {

// Of height and width.
struct ConvolutionSettings {
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> padding{0, 0};
  std::array<int64_t, 2> dilation{1, 1};
  int64_t groups = 1;
  bool has_relu = false;
  bool allows_tf32 = true;  // for float32, beside LibTorch's own setting
  // Whether the call waits for the fastest kernel to be found: the library compiles some, and several are tried.
  bool waits_for_best = false;
};

// While one is there, convolutions on this thread wait for the fastest kernel, which all threads then have: for who
// prepares runs and answers nobody. They may be nested.
class BestConvolutions {
 public:
  BestConvolutions();
  ~BestConvolutions();
  BestConvolutions(const BestConvolutions&) = delete;
  BestConvolutions& operator=(const BestConvolutions&) = delete;
  static bool AreWanted();
};

// Thread-safe. Lives as long as the process.
class GpuConvolutions {
 public:
  virtual ~GpuConvolutions() = default;

  // convolution(input, weight) + addend + bias, and relu of it if it has one, on the thread's current stream:
  // LibTorch's answer within the rounding of its dtype, and the same in every run of one kernel. input [batch,
  // channels, height, width], weight [outputs, channels / groups, height, width], bias [outputs], addend as the result;
  // the last two may be null.
  //
  // Undefined, and nothing was asked for, where the operands are not tensors in float16, bfloat16 or float32 on the
  // thread's current GPU; where the result is contiguous and not channels-last, and something follows, or there are
  // groups in another dtype than float16; if gradients are to be recorded; or if the library has nothing for it.
  //
  // The first call with given sizes takes the kernel that the library estimates to be the fastest of those that are
  // ready. Sizes that come again have the fastest one found in the background, which later calls take. Throws
  // c10::Error.
  virtual at::Tensor Convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor* bias,
                              const at::Tensor* addend, const ConvolutionSettings& settings) const = 0;
};

// Of a GPU that OpenGpu (gpu.h) gave; null for any other device, or where hearth was built without the library's
// headers. Takes no lock.
const GpuConvolutions* ConvolutionsOf(c10::Device device);

}  // namespace hearth
