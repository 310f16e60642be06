// The functions of math.h against <cmath> in more precision: f32 against double over every 1021st float, f64 against
// long double over numbers of all sizes. The bounds are those that math.h states.
#include "jit/fuser/llvm/math.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "jit/fuser/ir/builder.h"
#include "jit/fuser/llvm/compiled_kernel_testing.h"

namespace hearth::fuser {
namespace {

using Reference = long double (*)(long double, long double);

struct Case {
  Opcode opcode;
  double (*reference)(double, double);
  Reference long_reference;
  double ulps32, ulps64;
};

#define HEARTH_UNARY(name)                                 \
  [](double x, double) -> double { return std::name(x); }, \
      [](long double x, long double) -> long double { return std::name(x); }
#define HEARTH_BINARY(name)                                     \
  [](double x, double y) -> double { return std::name(x, y); }, \
      [](long double x, long double y) -> long double { return std::name(x, y); }

const Case kCases[] = {
    {Opcode::kExp, HEARTH_UNARY(exp), 2, 4},        {Opcode::kExp2, HEARTH_UNARY(exp2), 2, 4},
    {Opcode::kExpm1, HEARTH_UNARY(expm1), 2, 4},    {Opcode::kLog, HEARTH_UNARY(log), 2, 4},
    {Opcode::kLog2, HEARTH_UNARY(log2), 2, 4},      {Opcode::kLog10, HEARTH_UNARY(log10), 2, 4},
    {Opcode::kLog1p, HEARTH_UNARY(log1p), 2, 4},    {Opcode::kSin, HEARTH_UNARY(sin), 2, 4},
    {Opcode::kCos, HEARTH_UNARY(cos), 2, 4},        {Opcode::kTan, HEARTH_UNARY(tan), 4, 4},
    {Opcode::kAsin, HEARTH_UNARY(asin), 2, 4},      {Opcode::kAcos, HEARTH_UNARY(acos), 2, 4},
    {Opcode::kAtan, HEARTH_UNARY(atan), 2, 4},      {Opcode::kSinh, HEARTH_UNARY(sinh), 4, 4},
    {Opcode::kCosh, HEARTH_UNARY(cosh), 4, 4},      {Opcode::kTanh, HEARTH_UNARY(tanh), 2, 4},
    {Opcode::kAsinh, HEARTH_UNARY(asinh), 4, 4},    {Opcode::kAcosh, HEARTH_UNARY(acosh), 4, 4},
    {Opcode::kAtanh, HEARTH_UNARY(atanh), 4, 4},    {Opcode::kErf, HEARTH_UNARY(erf), 2, 4},
    {Opcode::kErfc, HEARTH_UNARY(erfc), 4, 4},      {Opcode::kAtan2, HEARTH_BINARY(atan2), 2, 4},
    {Opcode::kPower, HEARTH_BINARY(pow), 2, 4},     {Opcode::kSquareRoot, HEARTH_UNARY(sqrt), 0.5, 0.5},
    {Opcode::kFloor, HEARTH_UNARY(floor), 0, 0},    {Opcode::kCeil, HEARTH_UNARY(ceil), 0, 0},
    {Opcode::kTruncate, HEARTH_UNARY(trunc), 0, 0}, {Opcode::kRound, HEARTH_UNARY(nearbyint), 0, 0},
    {Opcode::kFmod, HEARTH_BINARY(fmod), 0, 0},
};

// y[i] = f(x[i]) or f(x[i], z[i])
Kernel ElementwiseKernel(Opcode opcode, Dtype dtype) {
  KernelBuilder k;
  const ValueId n = k.Symbol();
  const ValueId one = k.Integer(1);
  const BufferId x = k.Input(dtype, {n}, {one});
  const BufferId z = k.Input(dtype, {n}, {one});
  const BufferId y = k.Output(dtype, {n}, {one});
  k.Parallel(n, [&](ValueId i) {
    const ValueId index[] = {i};
    const ValueId a = k.Load(x, index);
    const ValueId result =
        InfoOf(opcode).num_operands == 2 ? k.Call(opcode, {a, k.Load(z, index)}) : k.Call(opcode, {a});
    k.Store(y, index, result);
  });
  return k.Finish();
}

template <class T>
struct Samples {
  std::vector<T> x, z;
};

template <class T>
T OfBits(uint64_t bits) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  } else {
    return std::bit_cast<double>(bits);
  }
}

// Numbers at which functions change what they do.
template <class T>
std::vector<T> Extremes() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (const T value : {T{0},
                        T{0.5},
                        T{1},
                        T{1.5},
                        T{2},
                        T{2.5},
                        T{3},
                        T{4},
                        T{10},
                        T{88.72},
                        T{89},
                        T{103.9},
                        T{104},
                        T{709.7},
                        T{711},
                        T{745},
                        T{746},
                        T{1e6},
                        T{3e9},
                        T{8388607.5},
                        T{16777216},
                        Limits::min(),
                        Limits::denorm_min(),
                        Limits::min() / 2,
                        Limits::epsilon(),
                        Limits::max(),
                        Limits::infinity(),
                        Limits::quiet_NaN()}) {
    for (const T signed_value : {value, -value}) {
      values.push_back(signed_value);
      values.push_back(std::nextafter(signed_value, Limits::infinity()));
      values.push_back(std::nextafter(signed_value, -Limits::infinity()));
    }
  }
  return values;
}

template <class T>
Samples<T> SamplesFor(const Case& c) {
  Samples<T> samples;
  std::mt19937_64 random(7);
  const std::vector<T> extremes = Extremes<T>();
  for (const T x : extremes) {
    for (const T z : extremes) {
      samples.x.push_back(x);
      samples.z.push_back(z);
    }
  }
  const auto moderate = [&](double scale) {
    return static_cast<T>(std::uniform_real_distribution<>(-scale, scale)(random));
  };
  if constexpr (sizeof(T) == 4) {
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4093) {
      samples.x.push_back(OfBits<T>(bits));
      samples.z.push_back(bits % 2 == 0 ? OfBits<T>(random()) : moderate(40));
    }
  }
  for (int i = 0; i < 100000; ++i) {
    const double scales[] = {1, 2, 10, 100, 750, 1e5};
    samples.x.push_back(i % 8 == 0 ? OfBits<T>(random()) : moderate(scales[i % 6]));
    samples.z.push_back(i % 16 == 0 ? OfBits<T>(random()) : moderate(scales[i % 4]));
  }
  return samples;
}

// In units in the last place of T at the reference.
template <class T>
double ErrorOf(T got, long double expected) {
  const T rounded = static_cast<T>(expected);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  if (got == rounded) return std::signbit(got) == std::signbit(rounded) || got != 0 ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) {
    // Within an ulp of the largest number.
    const T largest = std::copysign(std::numeric_limits<T>::max(), rounded);
    return (std::isinf(rounded) ? got : rounded) == largest && std::signbit(got) == std::signbit(rounded)
               ? 1
               : std::numeric_limits<double>::infinity();
  }
  const T magnitude = std::max(std::fabs(rounded), std::numeric_limits<T>::min());
  const int exponent = std::ilogb(magnitude);
  const long double ulp = std::ldexp(1.0L, exponent - (std::numeric_limits<T>::digits - 1));
  return static_cast<double>(std::fabs(static_cast<long double>(got) - expected) / ulp);
}

struct Worst {
  double ulps = 0;
  double x = 0, z = 0, got = 0, expected = 0;
};

template <class T>
Worst Measure(const Case& c, const HostTarget& target) {
  const CompiledKernel kernel(ElementwiseKernel(c.opcode, sizeof(T) == 4 ? Dtype::kFloat32 : Dtype::kFloat64), target);
  const Samples<T> samples = SamplesFor<T>(c);
  std::vector<T> y(samples.x.size());
  const int64_t symbols[] = {static_cast<int64_t>(y.size())};
  void* const buffers[] = {const_cast<T*>(samples.x.data()), const_cast<T*>(samples.z.data()), y.data()};
  kernel.Run(buffers, symbols);
  Worst worst;
  for (size_t i = 0; i < y.size(); ++i) {
    long double expected;
    if constexpr (sizeof(T) == 4) {
      expected = c.reference(samples.x[i], samples.z[i]);
    } else {
      expected = c.long_reference(samples.x[i], samples.z[i]);
    }
    const double ulps = ErrorOf(y[i], expected);
    if (ulps > worst.ulps) worst = {ulps, samples.x[i], samples.z[i], y[i], static_cast<double>(expected)};
  }
  return worst;
}

std::ostream& operator<<(std::ostream& out, const Worst& worst) {
  out.precision(17);
  return out << worst.ulps << " ulp at " << worst.x << ", " << worst.z << ": " << worst.got << ", expected "
             << worst.expected;
}

class MathTest : public testing::TestWithParam<std::string> {};

TEST_P(MathTest, FunctionsOfFloatAreWithinTheirBounds) {
  const HostTarget target = HostTarget::OfText(GetParam());
  const double tolerance = target.Has("fma") ? 1 : 4;
  for (const Case& c : kCases) {
    const Worst worst = Measure<float>(c, target);
    RecordProperty(std::string(InfoOf(c.opcode).name), std::to_string(worst.ulps));
    EXPECT_LE(worst.ulps, c.ulps32 * tolerance) << InfoOf(c.opcode).name << " f32: " << worst;
  }
}

TEST_P(MathTest, FunctionsOfDoubleAreWithinTheirBounds) {
  const HostTarget target = HostTarget::OfText(GetParam());
  const double tolerance = target.Has("fma") ? 1 : 4;
  for (const Case& c : kCases) {
    const Worst worst = Measure<double>(c, target);
    RecordProperty(std::string(InfoOf(c.opcode).name), std::to_string(worst.ulps));
    EXPECT_LE(worst.ulps, c.ulps64 * tolerance) << InfoOf(c.opcode).name << " f64: " << worst;
  }
}

// Whether anything subnormal came up on the way.
template <class T>
bool Underflows(Opcode opcode, const std::vector<T>& numbers, const HostTarget& target) {
  const CompiledKernel kernel(ElementwiseKernel(opcode, sizeof(T) == 4 ? Dtype::kFloat32 : Dtype::kFloat64), target);
  std::vector<T> x, y(64 * numbers.size());
  for (size_t i = 0; i < y.size(); ++i) x.push_back(numbers[i % numbers.size()]);
  const int64_t symbols[] = {static_cast<int64_t>(y.size())};
  void* const buffers[] = {x.data(), x.data(), y.data()};
  std::feclearexcept(FE_UNDERFLOW);
  kernel.Run(buffers, symbols);
  return std::fetestexcept(FE_UNDERFLOW) != 0;
}

// Where it does not come out: a processor takes many times as long for a vector that has such a number.
TEST_P(MathTest, ExponentialsOfMaskedNumbersAreNotSubnormalOnTheWay) {
  const HostTarget target = HostTarget::OfText(GetParam());
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Opcode opcode : {Opcode::kExp, Opcode::kExp2}) {
    EXPECT_FALSE(Underflows<float>(opcode, {-1e4F, -1e38F, -kInfinity, -200, -160, -80, -60, -1, 0, 5}, target));
    EXPECT_FALSE(Underflows<double>(opcode, {-1e4, -1e300, -kInfinity, -1100, -700, -400, -1, 0, 5}, target));
    EXPECT_TRUE(Underflows<float>(opcode, {opcode == Opcode::kExp ? -100.0F : -140.5F}, target));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, MathTest, testing::ValuesIn(TargetsOfThisMachine()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace hearth::fuser
