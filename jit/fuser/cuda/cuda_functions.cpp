#include "jit/fuser/cuda/cuda_functions.h"

#include <vector>

namespace hearth::fuser {
namespace {

struct CudaFunction {
  std::string_view name;
  std::vector<std::string_view> calls;
  std::string_view definition;
};

// Each after those that it calls.
const std::vector<CudaFunction>& AllFunctions() {
  static const auto* const functions = new std::vector<CudaFunction>{
      {"Vector",
       {},
       R"(
// Elements that are loaded or stored at once.
template <class T, int kSize>
struct __align__(sizeof(T) * kSize) Vector {
  T of[kSize];
};
)"},
      {"LoadVector", {"Vector"}, R"(
template <int kBytes>
struct Word;
template <>
struct Word<1> {
  using Type = unsigned char;
};
template <>
struct Word<2> {
  using Type = unsigned short;
};
template <>
struct Word<4> {
  using Type = unsigned;
};
template <>
struct Word<8> {
  using Type = uint2;
};
template <>
struct Word<16> {
  using Type = uint4;
};

// Of what the kernel only reads.
template <class T, int kSize>
__device__ Vector<T, kSize> LoadVector(const T* from) {
  union {
    typename Word<sizeof(T) * kSize>::Type word;
    Vector<T, kSize> elements;
  } loaded;
  loaded.word = __ldg((const typename Word<sizeof(T) * kSize>::Type*)from);
  return loaded.elements;
}
)"},
      // ---- f16 and bf16 ----
      {"FloatOfHalf", {}, R"(
__device__ float FloatOfHalf(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
)"},
      {"HalfOfFloat", {}, R"(
__device__ unsigned short HalfOfFloat(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
)"},
      {"FloatOfBFloat16", {}, R"(
__device__ float FloatOfBFloat16(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }
)"},
      {"BFloat16OfFloat", {}, R"(
__device__ unsigned short BFloat16OfFloat(float value) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
)"},
      // ---- Integers. The least number divided by -1 wraps around ----
      {"Divide", {}, R"(
template <class T>
__device__ T Divide(T a, T b) {
  if (b == T(0)) return T(0);
  if (T(-1) < T(0) && b == T(-1)) return T(0ULL - (unsigned long long)a);
  return T(a / b);
}
)"},
      {"Rest", {}, R"(
template <class T>
__device__ T Rest(T a, T b) {
  if (b == T(0) || (T(-1) < T(0) && b == T(-1))) return T(0);
  return T(a % b);
}
)"},
      {"FloorDivide", {"Divide", "Rest"}, R"(
template <class T>
__device__ T FloorDivide(T a, T b) {
  const T rest = Rest(a, b);
  return T(Divide(a, b) - (rest != T(0) && (rest < T(0)) != (b < T(0)) ? 1 : 0));
}
)"},
      {"Remainder", {"Rest"}, R"(
template <class T>
__device__ T Remainder(T a, T b) {
  const T rest = Rest(a, b);
  return T(rest != T(0) && (rest < T(0)) != (b < T(0)) ? rest + b : rest);
}
)"},
      {"ShiftLeft", {}, R"(
template <class T>
__device__ T ShiftLeft(T a, T count) {
  return count >= T(0) && count < T(8 * sizeof(T)) ? T((unsigned long long)a << count) : T(0);
}
)"},
      {"ShiftRight", {}, R"(
template <class T>
__device__ T ShiftRight(T a, T count) {
  return count >= T(0) && count < T(8 * sizeof(T)) ? T(a >> count) : a < T(0) ? T(-1) : T(0);
}
)"},
      {"ShiftRightLogical", {}, R"(
template <class T>
__device__ T ShiftRightLogical(T a, T count) {
  const unsigned long long bits = (unsigned long long)a & (~0ULL >> (64 - 8 * sizeof(T)));
  return count >= T(0) && count < T(8 * sizeof(T)) ? T(bits >> count) : T(0);
}
)"},
      // As LibTorch's kernels end a program that asks for an element that is not there.
      {"Within", {}, R"(
__device__ long long Within(long long index, long long size) {
  if ((unsigned long long)index >= (unsigned long long)size) {
    __assertfail("index out of range", "a fused kernel", 0, "", sizeof(char));
  }
  return index;
}
)"},
      // ---- Any dtype that is computed in. A NaN is not equal to itself ----
      {"Minimum", {}, R"(
template <class T>
__device__ T Minimum(T a, T b) {
  return a != a || a <= b ? a : b;
}
)"},
      {"Maximum", {}, R"(
template <class T>
__device__ T Maximum(T a, T b) {
  return a != a || a >= b ? a : b;
}
)"},
      // ---- f32 and f64 ----
      // By their bits: ptxas takes fabsf(x) > -1 and fabsf(x) >= 0 for true, though a NaN is neither.
      {"AbsoluteFloat", {}, R"(
__device__ float AbsoluteFloat(float value) { return __uint_as_float(__float_as_uint(value) & 0x7fffffffu); }
)"},
      {"CopySignFloat", {}, R"(
__device__ float CopySignFloat(float value, float sign) {
  return __uint_as_float((__float_as_uint(value) & 0x7fffffffu) | (__float_as_uint(sign) & 0x80000000u));
}
)"},
      {"FloorDivideFloat", {}, R"(
__device__ float FloorDivideFloat(float a, float b) {
  if (b == 0) return a / b;
  const float rest = fmodf(a, b);
  float quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return copysignf(0.0f, a / b);
  const float down = floorf(quotient);
  return quotient - down > 0.5f ? down + 1 : down;
}
)"},
      {"FloorDivideDouble", {}, R"(
__device__ double FloorDivideDouble(double a, double b) {
  if (b == 0) return a / b;
  const double rest = fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return copysign(0.0, a / b);
  const double down = floor(quotient);
  return quotient - down > 0.5 ? down + 1 : down;
}
)"},
      {"RemainderFloat", {}, R"(
__device__ float RemainderFloat(float a, float b) {
  const float rest = fmodf(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
)"},
      {"RemainderDouble", {}, R"(
__device__ double RemainderDouble(double a, double b) {
  const double rest = fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
)"},
      // ---- Reductions: how two partial results become one ----
      {"Sum", {}, R"(
struct Sum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return T(a + b);
  }
  __device__ int operator()(int a, int b) const { return int((unsigned)a + (unsigned)b); }
  __device__ long long operator()(long long a, long long b) const {
    return (long long)((unsigned long long)a + (unsigned long long)b);
  }
};
)"},
      {"Product", {}, R"(
struct Product {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return T(a * b);
  }
  __device__ int operator()(int a, int b) const { return int((unsigned)a * (unsigned)b); }
  __device__ long long operator()(long long a, long long b) const {
    return (long long)((unsigned long long)a * (unsigned long long)b);
  }
};
)"},
      {"Least", {"Minimum"}, R"(
struct Least {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return Minimum(a, b);
  }
};
)"},
      {"Largest", {"Maximum"}, R"(
struct Largest {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return Maximum(a, b);
  }
};
)"},
      // A NaN is better than any number.
      {"IsLess", {}, R"(
template <class T>
__device__ bool IsLess(T a, T b) {
  return b == b && (a != a || a < b);
}
)"},
      {"IsLarger", {}, R"(
template <class T>
__device__ bool IsLarger(T a, T b) {
  return b == b && (a != a || b < a);
}
)"},
      {"First", {}, R"(
// The best element and where it is; -1: nowhere.
template <class T>
struct First {
  T best;
  long long index;
};
)"},
      {"FirstLeast", {"First", "IsLess"}, R"(
struct FirstLeast {
  template <class T>
  __device__ First<T> operator()(First<T> a, First<T> b) const {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    if (IsLess(b.best, a.best)) return b;
    return IsLess(a.best, b.best) || a.index < b.index ? a : b;
  }
};
)"},
      {"FirstLargest", {"First", "IsLarger"}, R"(
struct FirstLargest {
  template <class T>
  __device__ First<T> operator()(First<T> a, First<T> b) const {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    if (IsLarger(b.best, a.best)) return b;
    return IsLarger(a.best, b.best) || a.index < b.index ? a : b;
  }
};
)"},
      {"OfLane", {}, R"(
// What the thread of the warp has whose lane differs by `mask`, and what the first one has.
template <class T>
__device__ T OfLane(T value, int mask) {
  return T(__shfl_xor_sync(0xffffffffu, value, mask));
}
template <class T>
__device__ T OfFirstLane(T value) {
  return T(__shfl_sync(0xffffffffu, value, 0));
}
)"},
      {"OfLaneFirst", {"OfLane", "First"}, R"(
template <class T>
__device__ First<T> OfLane(First<T> value, int mask) {
  return {OfLane(value.best, mask), OfLane(value.index, mask)};
}
template <class T>
__device__ First<T> OfFirstLane(First<T> value) {
  return {OfFirstLane(value.best), OfFirstLane(value.index)};
}
)"},
      {"WarpReduce", {"OfLane"}, R"(
// Of the values of a warp's threads, always in the same order. All threads get the first one's result.
template <class T, class Combine>
__device__ T WarpReduce(T value, Combine combine) {
  for (int mask = 16; mask > 0; mask /= 2) value = combine(value, OfLane(value, mask));
  return OfFirstLane(value);
}
)"},
      {"BlockReduce", {"OfLane"}, R"(
// Of the values of a block's threads, always in the same order. All threads get the first one's result. `partial` is the
// block's, for one call until all threads have met again.
template <class T, class Combine>
__device__ T BlockReduce(T value, T identity, T* partial, Combine combine) {
  const unsigned lane = threadIdx.x % 32;
  for (int mask = 16; mask > 0; mask /= 2) value = combine(value, OfLane(value, mask));
  if (lane == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = lane < blockDim.x / 32 ? partial[lane] : identity;
  for (int mask = 16; mask > 0; mask /= 2) value = combine(value, OfLane(value, mask));
  return OfFirstLane(value);
}
)"},
  };
  return *functions;
}

}  // namespace

std::string_view CudaFunctions::Use(std::string_view name) {
  const std::vector<CudaFunction>& functions = AllFunctions();
  for (size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].name != name) continue;
    if (used_.insert(i).second) {
      for (const std::string_view called : functions[i].calls) Use(called);
    }
  }
  return name;
}

std::string CudaFunctions::Definitions() const {
  std::string definitions;
  for (const size_t i : used_) definitions += AllFunctions()[i].definition;
  return definitions;
}

}  // namespace hearth::fuser
