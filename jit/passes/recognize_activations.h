// Activations that models write out of arithmetic become the operator that LibTorch has for them: one pass over memory
// where there were up to eight, and in half precision one rounding. Known are GELU's tanh form, SiLU, hardswish and
// hardsigmoid. GELU's erf form stays as it is written: LibTorch's own gives NaN for infinity where that gives infinity.
//
// An activation is a polynomial of its input x and of f, a function of a polynomial of x. GELU's tanh form is
// 0.5 x + 0.5 x f with f = tanh(0.7979 x + 0.03568 x^3), however it is bracketed. The pass starts at each f, expands
// what it is computed from and what is computed of it, and compares coefficients; those that say the same to six digits
// are the same.
//
// x is a floating-point tensor that nobody writes, and nobody but the activation uses f. Results differ from those of
// the operators one by one as roundings do. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

// The plan records no gradients.
bool RecognizeActivations(Compilation& compilation);

}  // namespace hearth
