#include "jit/kernels/target.h"

#include <cstdlib>
#include <string_view>

namespace hearth::kernels {
namespace {

std::string_view MostVectors() {
  const char* most = std::getenv("HEARTH_MOST_VECTORS");
  return most == nullptr ? std::string_view() : most;
}

}  // namespace

bool HasAvx512() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("fma") && MostVectors().empty();
  return has;
}

bool HasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && MostVectors() != "none";
  return has;
}

}  // namespace hearth::kernels
