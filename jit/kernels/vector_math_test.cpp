#include "jit/kernels/vector_math.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "jit/kernels/vector_avx2.h"

namespace hearth::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

HEARTH_AVX512_BEGIN
#define HEARTH_LOOP(name)                                                                             \
  void name##All(const float* from, float* to, size_t count) {                                        \
    for (size_t i = 0; i < count; i += 16) _mm512_storeu_ps(to + i, name(_mm512_loadu_ps(from + i))); \
  }
HEARTH_LOOP(Exp)
HEARTH_LOOP(Sigmoid)
HEARTH_LOOP(Silu)
HEARTH_LOOP(Tanh)
HEARTH_LOOP(Gelu)
HEARTH_LOOP(GeluTanh)
HEARTH_LOOP(Relu)
HEARTH_LOOP(Relu6)
HEARTH_LOOP(HardSigmoid)
HEARTH_LOOP(HardSwish)
#undef HEARTH_LOOP
HEARTH_AVX512_END

HEARTH_AVX2_BEGIN
// Of eight floats: there is no more of exp than attention needs.
void ExpOfNegativeAll(const float* from, float* to, size_t count) {
  const __m256 sign = _mm256_set1_ps(-0.0F);
  for (size_t i = 0; i < count; i += 8)
    _mm256_storeu_ps(to + i, avx2::Exp(_mm256_or_ps(_mm256_loadu_ps(from + i), sign)));
}
#define HEARTH_LOOP(name)                                                                                  \
  void name##OfEightAll(const float* from, float* to, size_t count) {                                      \
    for (size_t i = 0; i < count; i += 8) _mm256_storeu_ps(to + i, avx2::name(_mm256_loadu_ps(from + i))); \
  }
HEARTH_LOOP(Sigmoid)
HEARTH_LOOP(Silu)
HEARTH_LOOP(Tanh)
HEARTH_LOOP(Gelu)
HEARTH_LOOP(GeluTanh)
HEARTH_LOOP(Relu)
HEARTH_LOOP(Relu6)
HEARTH_LOOP(HardSwish)
#undef HEARTH_LOOP
HEARTH_AVX2_END

struct Function {
  const char* name;
  void (*all)(const float*, float*, size_t);
  double (*expected)(double);
  double ulps;  // of the largest part of the result's sum, see below
};

double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }
double SiluOf(double x) { return x / (1 + std::exp(-x)); }
double GeluOf(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }
double GeluTanhOf(double x) { return x / 2 * (1 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x))); }
double TanhOf(double x) { return std::tanh(x); }
double ReluOf(double x) { return x < 0 ? 0 : x; }
double Relu6Of(double x) { return x < 0 ? 0 : x > 6 ? 6 : x; }
double HardSigmoidOf(double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }
double HardSwishOf(double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }

const Function kFunctions[] = {
    {"exp", ExpAll, [](double x) { return std::exp(x); }, 2},
    {"sigmoid", SigmoidAll, SigmoidOf, 4},
    {"silu", SiluAll, SiluOf, 4},
    {"tanh", TanhAll, TanhOf, 4},
    {"gelu", GeluAll, GeluOf, 2},
    {"gelu_tanh", GeluTanhAll, GeluTanhOf, 2},
    {"relu", ReluAll, ReluOf, 0},
    {"relu6", Relu6All, Relu6Of, 0},
    {"hardsigmoid", HardSigmoidAll, HardSigmoidOf, 2},
    {"hardswish", HardSwishAll, HardSwishOf, 4},
};

const Function kFunctionsOfEight[] = {
    {"exp of what is negative", ExpOfNegativeAll, [](double x) { return std::exp(-std::abs(x)); }, 2},
    {"sigmoid", SigmoidOfEightAll, SigmoidOf, 4},
    {"silu", SiluOfEightAll, SiluOf, 4},
    {"tanh", TanhOfEightAll, TanhOf, 4},
    {"gelu", GeluOfEightAll, GeluOf, 2},
    {"gelu_tanh", GeluTanhOfEightAll, GeluTanhOf, 2},
    {"relu", ReluOfEightAll, ReluOf, 0},
    {"relu6", Relu6OfEightAll, Relu6Of, 0},
    {"hardswish", HardSwishOfEightAll, HardSwishOf, 4},
};

// Those that this processor can run.
std::vector<Function> FunctionsHere() {
  std::vector<Function> here;
  if (HasAvx512()) here.insert(here.end(), std::begin(kFunctions), std::end(kFunctions));
  if (HasAvx2()) here.insert(here.end(), std::begin(kFunctionsOfEight), std::end(kFunctionsOfEight));
  return here;
}

// One ulp of float32 at that size.
double Ulp(double size) { return std::ldexp(1.0, std::ilogb(std::max(size, 1e-37)) - 23); }

// Whether a sum of something near one and something near minus one is the function: its error is one of those.
bool Cancels(const Function& function) {
  return std::string(function.name).starts_with("gelu") || std::string(function.name).starts_with("hard");
}

TEST(VectorMathTest, FunctionsAreThoseOfTheStandardLibraryWithinTheirBounds) {
  if (FunctionsHere().empty()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  std::mt19937 random(1);
  std::uniform_real_distribution<float> size(-20, 7);
  std::vector<float> numbers;
  for (int i = 0; i < 1 << 18; ++i) numbers.push_back((i % 2 == 0 ? 1 : -1) * std::exp2(size(random)));
  std::vector<float> found(numbers.size());
  for (const Function& function : FunctionsHere()) {
    function.all(numbers.data(), found.data(), numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double x = numbers[i], expected = function.expected(x);
      if (expected > std::numeric_limits<float>::max()) {
        ASSERT_EQ(found[i], kInfinity) << function.name << " of " << x;
        continue;
      }
      const double part = Cancels(function) ? std::max(std::abs(expected), std::abs(x)) : std::abs(expected);
      ASSERT_NEAR(found[i], expected, function.ulps * Ulp(part) + 2e-36) << function.name << " of " << x;
    }
  }
}

TEST(VectorMathTest, WhatIsNoNumberStaysSo) {
  if (FunctionsHere().empty()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  std::array<float, 16> numbers{}, found{};
  numbers[0] = kNan, numbers[1] = kInfinity, numbers[2] = -kInfinity, numbers[3] = -0.0f, numbers[4] = 1e30f,
  numbers[5] = -1e30f;
  for (const Function& function : FunctionsHere()) {
    function.all(numbers.data(), found.data(), numbers.size());
    EXPECT_TRUE(std::isnan(found[0])) << function.name;
    for (size_t i = 1; i < 6; ++i) {
      const double expected = function.expected(numbers[i]);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(found[i])) << function.name << " of " << numbers[i] << " is " << found[i];
      } else {
        EXPECT_EQ(found[i], static_cast<float>(expected)) << function.name << " of " << numbers[i];
      }
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
