// For which processors this room's loops are compiled, whatever the rest of the tree is compiled for. What stands
// between HEARTH_AVX512_BEGIN and HEARTH_AVX512_END may be called only where HasAvx512() is true, and templates and
// inline functions of headers that are used there must not be the library's: the linker keeps one copy for all.
#pragma once

#include <cstdint>

#if defined(__clang__)
#define HEARTH_AVX512_BEGIN \
  _Pragma("clang attribute push(__attribute__((target(\"avx512dq,avx512bw,avx512vl,fma\"))), apply_to=function)")
#define HEARTH_AVX512_END _Pragma("clang attribute pop")
#define HEARTH_AVX2_BEGIN _Pragma("clang attribute push(__attribute__((target(\"avx2,fma\"))), apply_to=function)")
#define HEARTH_AVX2_END _Pragma("clang attribute pop")
#else
#define HEARTH_AVX512_BEGIN \
  _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f,avx512dq,avx512bw,avx512vl,fma\")")
#define HEARTH_AVX512_END _Pragma("GCC pop_options")
#define HEARTH_AVX2_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma\")")
#define HEARTH_AVX2_END _Pragma("GCC pop_options")
#endif

namespace hearth::kernels {

// Floats of a vector with AVX-512.
inline constexpr int64_t kLanes = 16;

// Of this processor, and its operating system saves the registers. HEARTH_MOST_VECTORS in the environment forgoes
// AVX-512 (avx2) or both (none), so that tests see all kinds of code on one machine.
bool HasAvx512();
bool HasAvx2();
// Either, which is what loops that are compiled for both need.
inline bool HasVectors() { return HasAvx512() || HasAvx2(); }

// Floats of the vectors that such loops use here.
inline int64_t LanesHere() { return HasAvx512() ? kLanes : kLanes / 2; }

constexpr int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace hearth::kernels
