#include "jit/fuser/cuda/cuda_target.h"

#include <charconv>

namespace hearth::fuser {
namespace {

// The first with the conversions to and from bf16.
constexpr int kLeastCapability = 80;

}  // namespace

CudaTarget CudaTarget::OfText(std::string_view text) {
  constexpr std::string_view kArchitecture = "sm_";
  const auto fail = [&](const std::string& problem) {
    throw CudaTargetError("no code for " + std::string(text) + ": " + problem);
  };
  std::string_view architecture = text;
  if (!architecture.starts_with(kCudaPrefix)) fail("a target for CUDA is cuda:sm_90 or the like");
  architecture.remove_prefix(kCudaPrefix.size());
  if (!architecture.starts_with(kArchitecture)) fail("a target for CUDA is cuda:sm_90 or the like");
  std::string_view number = architecture.substr(kArchitecture.size());
  if (number.ends_with('a')) number.remove_suffix(1);
  int capability = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), capability);
  if (error != std::errc() || end != number.data() + number.size()) fail("a target for CUDA is cuda:sm_90 or the like");
  if (capability < kLeastCapability) fail("kernels need compute capability 8.0");
  return CudaTarget(architecture);
}

}  // namespace hearth::fuser
