// Pointwise functions beside those that layers are made of (pointwise.cpp): hyperbolic ones, those of torch.special and
// of bits; and other spellings of operators of that file.
#include "jit/definitions/definition_lists.h"
#include "jit/definitions/pointwise_facts.h"
#include "jit/definitions/scalar_rules.h"
#include "jit/definitions/shared_rules.h"

namespace hearth {
namespace {

using facts::BinaryFloating;
using facts::Compare;
using facts::LikeBool;
using facts::LikeFloating;
using facts::LikeInOrder;
using facts::Magnitude;

// Both operands are converted first, which may reorder them.
void FloatPower(Call& call) {
  const Dtype dtype = Promoted(call, {0, 1});
  if (!dtype || c10::isComplexType(*dtype)) return;
  facts::Elementwise(call, c10::kDouble);
  for (const size_t i : {0, 1}) {
    if (call.is_tensor_type(i) && !call.in(i).contiguous()) call.out().order = {};
  }
}

using enum OperatorClass;

const OperatorDefinition kDefinitions[] = {
    // ---- Of one operand ----
    {.name = "aten::asinh",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Asinh,
     .in_place = true,
     .folding = Folding::kNumbers},
    {.name = "aten::acosh",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Acosh,
     .in_place = true,
     .folding = Folding::kNumbers},
    {.name = "aten::atanh",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Atanh,
     .in_place = true,
     .folding = Folding::kNumbers},
    {.name = "aten::logit", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Logit, .in_place = true},
    {.name = "aten::sinc", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Sinc, .in_place = true},
    {.name = "aten::deg2rad", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Deg2rad, .in_place = true},
    {.name = "aten::rad2deg", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Rad2deg, .in_place = true},
    {.name = "aten::sgn", .kind = kPointwise, .facts = LikeInOrder, .scalar = scalar::Sign, .in_place = true},
    {.name = "aten::signbit", .kind = kPointwise, .facts = LikeBool, .scalar = scalar::Signbit},
    {.name = "aten::isposinf", .kind = kPointwise, .facts = LikeBool, .scalar = scalar::IsPosInf},
    {.name = "aten::isneginf", .kind = kPointwise, .facts = LikeBool, .scalar = scalar::IsNegInf},
    {.name = "aten::special_entr", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Entr},
    {.name = "aten::special_ndtr", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Ndtr},
    {.name = "aten::erfinv",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Erfinv,
     .in_place = true,
     .autocast = AutocastPolicy::kFull},
    // ---- Of two ----
    {.name = "aten::isclose", .kind = kPointwise, .facts = Compare, .scalar = scalar::IsClose},
    {.name = "aten::logaddexp", .kind = kPointwise, .facts = Binary, .scalar = scalar::LogAddExp},
    {.name = "aten::logaddexp2", .kind = kPointwise, .facts = Binary, .scalar = scalar::LogAddExp2},
    {.name = "aten::hypot", .kind = kPointwise, .facts = Binary, .scalar = scalar::Hypot, .in_place = true},
    {.name = "aten::fmin", .kind = kPointwise, .facts = Binary, .scalar = scalar::Fmin},
    {.name = "aten::fmax", .kind = kPointwise, .facts = Binary, .scalar = scalar::Fmax},
    {.name = "aten::heaviside", .kind = kPointwise, .facts = Binary, .scalar = scalar::Heaviside, .in_place = true},
    {.name = "aten::copysign",
     .kind = kPointwise,
     .facts = BinaryFloating,
     .scalar = scalar::CopySign,
     .in_place = true,
     .folding = Folding::kNumbers},
    {.name = "aten::xlogy", .kind = kPointwise, .facts = BinaryFloating, .scalar = scalar::Xlogy, .in_place = true},
    {.name = "aten::special_xlog1py", .kind = kPointwise, .facts = BinaryFloating, .scalar = scalar::Xlog1py},
    {.name = "aten::float_power", .kind = kPointwise, .facts = FloatPower, .scalar = scalar::Power},
    {.name = "aten::__lshift__",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::ShiftLeft,
     .folding = Folding::kNumbers},
    {.name = "aten::__rshift__",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::ShiftRight,
     .folding = Folding::kNumbers},
    {.name = "aten::bitwise_left_shift",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::ShiftLeft,
     .in_place = true},
    {.name = "aten::bitwise_right_shift",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::ShiftRight,
     .in_place = true},
    // ---- Other spellings ----
    {.name = "aten::absolute", .kind = kPointwise, .facts = Magnitude, .scalar = scalar::Abs, .in_place = true},
    {.name = "aten::negative", .kind = kPointwise, .facts = LikeInOrder, .scalar = scalar::Negate, .in_place = true},
    {.name = "aten::fix", .kind = kPointwise, .facts = LikeInOrder, .scalar = scalar::Trunc, .in_place = true},
    {.name = "aten::arccos", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Acos, .in_place = true},
    {.name = "aten::arcsin", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Asin, .in_place = true},
    {.name = "aten::arctan", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Atan, .in_place = true},
    {.name = "aten::arccosh", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Acosh, .in_place = true},
    {.name = "aten::arcsinh", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Asinh, .in_place = true},
    {.name = "aten::arctanh", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Atanh, .in_place = true},
    {.name = "aten::arctan2", .kind = kPointwise, .facts = BinaryFloating, .scalar = scalar::Atan2, .in_place = true},
    {.name = "aten::greater", .kind = kPointwise, .facts = Compare, .scalar = scalar::Greater, .in_place = true},
    {.name = "aten::greater_equal",
     .kind = kPointwise,
     .facts = Compare,
     .scalar = scalar::GreaterOrEqual,
     .in_place = true},
    {.name = "aten::less", .kind = kPointwise, .facts = Compare, .scalar = scalar::Less, .in_place = true},
    {.name = "aten::less_equal", .kind = kPointwise, .facts = Compare, .scalar = scalar::LessOrEqual, .in_place = true},
    {.name = "aten::not_equal", .kind = kPointwise, .facts = Compare, .scalar = scalar::NotEqual, .in_place = true},
    {.name = "aten::special_erf", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Erf},
    {.name = "aten::special_erfc", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Erfc},
    {.name = "aten::special_erfinv", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Erfinv},
    {.name = "aten::special_exp2", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Exp2},
    {.name = "aten::special_expit", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Sigmoid},
    {.name = "aten::special_expm1", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Expm1},
    {.name = "aten::special_log1p", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Log1p},
    {.name = "aten::special_logit", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Logit},
    {.name = "aten::special_round", .kind = kPointwise, .facts = LikeInOrder, .scalar = scalar::Round},
    {.name = "aten::special_sinc", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Sinc},
    {.name = "aten::special_xlogy", .kind = kPointwise, .facts = BinaryFloating, .scalar = scalar::Xlogy},
};

}  // namespace

std::span<const OperatorDefinition> SpecialDefinitions() { return kDefinitions; }

}  // namespace hearth
