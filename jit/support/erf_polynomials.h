// erf of float32 as N. Juffa computes it ("Efficient faithfully-rounded implementation of error function erff()", Stack
// Overflow 35148198): up to kErfSplit in size, x + x P(x^2) with P of kErfSmall; beyond, 1 - exp(Q(t)), t = |x| up to
// 4, where Q is made of kErfLarge (fuser/llvm/math_erf.cpp).
#pragma once

namespace hearth::polynomials {

inline constexpr double kErfSplit32 = 0.927734375;
// The constant coefficient first.
inline constexpr double kErfSmall32[] = {1.28379166e-1,  -3.76125336e-1, 1.12819925e-1,
                                         -2.67681349e-2, 4.99119423e-3,  -5.96761703e-4};
// q = (a0 t + a1) t^2 + (a2 t + a3), then q = q t + a for those that are left, then q t - t.
inline constexpr double kErfLarge32[] = {-1.72853470e-5, 3.83197126e-4,  -3.88396438e-3, 2.42546219e-2,
                                         -1.06777877e-1, -6.34846687e-1, -1.28717512e-1};

}  // namespace hearth::polynomials
