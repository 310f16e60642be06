// Scalar rules of losses that give one for each element. LibTorch makes most of them of several operators, each of
// which rounds its result.
#include "jit/definitions/scalar_rules.h"

namespace hearth::scalar {
namespace {

using fuser::Opcode;
using fuser::Scalar;

// Means and sums are not pointwise.
bool IsOfEach(const ScalarCall& c) { return c.is_floating() && c.call().number("reduction") == 0; }

// Whether an optional operand is given.
bool IsGiven(const ScalarCall& c, size_t operand) {
  const c10::IValue* constant = c.call().constant(operand);
  return constant == nullptr || !constant->isNone();
}

Scalar Distance(ScalarCall& c) { return fuser::Absolute(c.Round(c.In(0) - c.In(1))); }

}  // namespace

Scalar BinaryCrossEntropyWithLogits(ScalarCall& c) {
  if (!IsOfEach(c)) return {};
  const size_t weight = c.call().find("weight"), weight_of_ones = c.call().find("pos_weight");
  for (const size_t operand : {weight, weight_of_ones}) {
    if (IsGiven(c, operand) && c.call().in(operand).dtype != c.call().in(0).dtype) return {};
  }
  const Scalar x = c.In(0), target = c.In(1);
  Scalar log_sigmoid = c.Round(LogSigmoid(c));
  if (IsGiven(c, weight_of_ones)) {
    const Scalar more = c.Round(c.Round(c.In(weight_of_ones) - 1) * target);
    log_sigmoid = c.Round(log_sigmoid * c.Round(more + 1));
  }
  const Scalar loss = c.Round(c.Round(1 - target) * x) - log_sigmoid;
  return IsGiven(c, weight) ? c.Round(loss) * c.In(weight) : loss;
}
Scalar HingeEmbeddingLoss(ScalarCall& c) {
  const std::optional<double> margin = c.Number("margin");
  if (!IsOfEach(c) || !margin) return {};
  const Scalar x = c.In(0), target = c.In(1);
  // As in a subtraction, where a CPU rounds numbers to half precision.
  const Scalar number = c.Constant(c.is_on_gpu() ? c.computed() : c.result(), *margin).To(c.computed());
  const Scalar beyond = fuser::Maximum(c.Round(number - x), 0);
  return Select(target != x.Like(1), beyond, x.Like(0)) + Select(target != x.Like(-1), x, x.Like(0));
}
Scalar HuberLoss(ScalarCall& c) {
  const std::optional<double> delta = c.Number("delta");
  if (!IsOfEach(c) || !delta || c.is_reduced_on_gpu()) return {};
  // Of float16 a CPU's kernel rounds nothing on the way, of bfloat16 everything.
  const bool is_half = c.result() == fuser::Dtype::kFloat16;
  const auto rounded = [&](Scalar step) { return is_half ? step : c.Round(step); };
  const Scalar z = fuser::Absolute(rounded(c.In(0) - c.In(1))), bound = rounded(z.Like(*delta));
  return Select(z <= bound, rounded(0.5 * z) * z, bound * rounded(z - rounded(0.5 * bound)));
}
Scalar KlDivergence(ScalarCall& c) {
  const std::optional<bool> is_log = c.call().flag("log_target");
  if (!IsOfEach(c) || !is_log || c.is_reduced_on_gpu()) return {};
  const Scalar x = c.In(0), target = c.In(1);
  if (*is_log) return c.Round(fuser::Exp(target)) * c.Round(target - x);
  const Scalar logarithm = c.Round(target.With(Opcode::kLog));
  const Scalar entropy = Select(target == x.Like(0), x.Like(0), c.Round(target * logarithm));
  return entropy - c.Round(target * x);
}
Scalar L1Loss(ScalarCall& c) { return IsOfEach(c) ? Distance(c) : Scalar(); }
Scalar MarginRankingLoss(ScalarCall& c) {
  const std::optional<double> margin = c.Number("margin");
  if (!IsOfEach(c) || !margin) return {};
  const Scalar number = c.Constant(c.is_on_gpu() ? c.computed() : c.result(), *margin).To(c.computed());
  return fuser::Maximum(c.Round(c.Round(-c.In(2) * c.Round(c.In(0) - c.In(1))) + number), 0);
}
Scalar MseLoss(ScalarCall& c) {
  if (!IsOfEach(c)) return {};
  const Scalar distance = Distance(c);
  return distance * distance;
}
Scalar PoissonNllLoss(ScalarCall& c) {
  const std::optional<bool> is_log = c.call().flag("log_input"), full = c.call().flag("full");
  const std::optional<double> epsilon = c.Number("eps");
  if (!IsOfEach(c) || !is_log || full != false || !epsilon) return {};
  const Scalar x = c.In(0), target = c.In(1);
  if (*is_log) return c.Round(fuser::Exp(x)) - c.Round(target * x);
  const Scalar number = c.Constant(c.is_on_gpu() ? c.computed() : c.result(), *epsilon).To(c.computed());
  return x - c.Round(target * c.Round(c.Round(x + number).With(Opcode::kLog)));
}
Scalar SmoothL1Loss(ScalarCall& c) {
  const std::optional<double> beta = c.Number("beta");
  if (!IsOfEach(c) || !beta) return {};
  if (*beta == 0) return Distance(c);
  if (c.is_reduced_on_gpu()) return {};
  // The other way round than huber_loss.
  const bool is_bfloat16 = c.result() == fuser::Dtype::kBFloat16;
  const auto rounded = [&](Scalar step) { return is_bfloat16 ? step : c.Round(step); };
  const Scalar z = fuser::Absolute(rounded(c.In(0) - c.In(1))), bound = rounded(z.Like(*beta));
  return Select(z < bound, rounded(rounded(0.5 * z) * z) / bound, z - rounded(0.5 * bound));
}
Scalar SoftMarginLoss(ScalarCall& c) {
  if (!IsOfEach(c)) return {};
  return fuser::Log1p(c.Round(fuser::Exp(c.Round(-c.In(0) * c.In(1)))));
}

}  // namespace hearth::scalar
