// The loops of activation.cpp, for whatever vectors the namespace around has (vector_avx512.h, vector_avx2.h). Included
// once for each, where code for these is compiled.

#define HEARTH_FUNCTION(name)                             \
  struct name##Function {                                 \
    Vector operator()(Vector x) const { return name(x); } \
  };
HEARTH_FUNCTION(Relu)
HEARTH_FUNCTION(Relu6)
HEARTH_FUNCTION(Gelu)
HEARTH_FUNCTION(GeluTanh)
HEARTH_FUNCTION(Silu)
HEARTH_FUNCTION(Sigmoid)
HEARTH_FUNCTION(Tanh)
HEARTH_FUNCTION(HardSwish)
#undef HEARTH_FUNCTION

struct LeakyReluFunction {
  float slope;
  Vector operator()(Vector x) const { return LeakyRelu(x, Broadcast(slope)); }
};

template <typename Function>
void ForAll(Function function, float* elements, int64_t rows, int64_t columns, int64_t stride) {
  for (int64_t row = 0; row < rows; ++row, elements += stride) {
    int64_t i = 0;
    for (; i + kLanes <= columns; i += kLanes) StoreUnaligned(elements + i, function(LoadUnaligned(elements + i)));
    if (i < columns) StoreFirst(elements + i, columns - i, function(LoadFirst(elements + i, columns - i)));
  }
}

void ActivateAll(Activation activation, float slope, float* elements, int64_t rows, int64_t columns, int64_t stride) {
  switch (activation) {
    case Activation::kNone:
      return;
    case Activation::kRelu:
      return ForAll(ReluFunction(), elements, rows, columns, stride);
    case Activation::kRelu6:
      return ForAll(Relu6Function(), elements, rows, columns, stride);
    case Activation::kLeakyRelu:
      return ForAll(LeakyReluFunction{slope}, elements, rows, columns, stride);
    case Activation::kGelu:
      return ForAll(GeluFunction(), elements, rows, columns, stride);
    case Activation::kGeluTanh:
      return ForAll(GeluTanhFunction(), elements, rows, columns, stride);
    case Activation::kSilu:
      return ForAll(SiluFunction(), elements, rows, columns, stride);
    case Activation::kSigmoid:
      return ForAll(SigmoidFunction(), elements, rows, columns, stride);
    case Activation::kTanh:
      return ForAll(TanhFunction(), elements, rows, columns, stride);
    case Activation::kHardSwish:
      return ForAll(HardSwishFunction(), elements, rows, columns, stride);
  }
}
