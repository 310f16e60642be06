// The GPU that a kernel is compiled for: "cuda:sm_90", or "cuda:sm_90a" with what only that processor has. From compute
// capability 8.0 on.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace hearth::fuser {

// What a target's text begins with that is CudaTarget's.
inline constexpr std::string_view kCudaPrefix = "cuda:";

class CudaTargetError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class CudaTarget {
 public:
  // Throws CudaTargetError for a text that is none.
  static CudaTarget OfText(std::string_view text);

  std::string text() const { return std::string(kCudaPrefix) + architecture_; }
  // "sm_90".
  const std::string& architecture() const { return architecture_; }

 private:
  explicit CudaTarget(std::string_view architecture) : architecture_(architecture) {}

  std::string architecture_;
};

}  // namespace hearth::fuser
