#include "jit/kernels/activation.h"

#include "jit/kernels/vector_math.h"

namespace hearth::kernels {
namespace {

HEARTH_AVX512_BEGIN

#define HEARTH_FUNCTION(name)                             \
  struct name##Function {                                 \
    __m512 operator()(__m512 x) const { return name(x); } \
  };
HEARTH_FUNCTION(Relu)
HEARTH_FUNCTION(Gelu)
HEARTH_FUNCTION(GeluTanh)
HEARTH_FUNCTION(Silu)
HEARTH_FUNCTION(Sigmoid)
HEARTH_FUNCTION(Tanh)
HEARTH_FUNCTION(HardSwish)
#undef HEARTH_FUNCTION

struct LeakyReluFunction {
  float slope;
  __m512 operator()(__m512 x) const { return LeakyRelu(x, _mm512_set1_ps(slope)); }
};

template <typename Function>
void ForAll(Function function, float* elements, int64_t rows, int64_t columns, int64_t stride) {
  for (int64_t row = 0; row < rows; ++row, elements += stride) {
    int64_t i = 0;
    for (; i + 16 <= columns; i += 16) _mm512_storeu_ps(elements + i, function(_mm512_loadu_ps(elements + i)));
    if (i == columns) continue;
    const auto mask = static_cast<__mmask16>((1u << (columns - i)) - 1);
    _mm512_mask_storeu_ps(elements + i, mask, function(_mm512_maskz_loadu_ps(mask, elements + i)));
  }
}

HEARTH_AVX512_END

}  // namespace

void Activate(Activation activation, float slope, float* elements, int64_t rows, int64_t columns, int64_t stride) {
  const auto all = [&](auto function) { ForAll(function, elements, rows, columns, stride); };
  switch (activation) {
    case Activation::kNone:
      return;
    case Activation::kRelu:
      return all(ReluFunction());
    case Activation::kLeakyRelu:
      return all(LeakyReluFunction{slope});
    case Activation::kGelu:
      return all(GeluFunction());
    case Activation::kGeluTanh:
      return all(GeluTanhFunction());
    case Activation::kSilu:
      return all(SiluFunction());
    case Activation::kSigmoid:
      return all(SigmoidFunction());
    case Activation::kTanh:
      return all(TanhFunction());
    case Activation::kHardSwish:
      return all(HardSwishFunction());
  }
}

}  // namespace hearth::kernels
