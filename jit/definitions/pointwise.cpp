// What computes each element of its result from the elements in its place.
#include "jit/definitions/definition_lists.h"
#include "jit/definitions/operand_order.h"
#include "jit/definitions/pointwise_facts.h"
#include "jit/definitions/scalar_rules.h"
#include "jit/definitions/shared_rules.h"

#include <algorithm>
#include <vector>

namespace hearth {
namespace {

using facts::BinaryFloating;
using facts::Compare;
using facts::Elementwise;
using facts::Like;
using facts::LikeBool;
using facts::LikeFloating;
using facts::LikeInOrder;
using facts::Magnitude;
using Kind = ValueFacts::Kind;

// A view of all of it, or new memory of the same strides.
void ItsInput(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, call.in(0).sizes);
  call.GiveOrder(call.in(0).order);
}
// Of a tensor or of a list, which then has the same elements.
void Copied(Call& call) {
  if (call.in(0).kind == Kind::kList) {
    CopyOfList(call);
  } else {
    ItsInput(call);
  }
}
// The order of new memory in a format that is asked for.
StrideOrder OrderOfFormat(Call& call) {
  const std::optional<int64_t> format = call.number("memory_format");
  return format ? StrideOrder::OfFormat(static_cast<c10::MemoryFormat>(*format)) : StrideOrder();
}
// Whether the tensor is not in that order, whatever its sizes are: of two dimensions, of several elements each, the
// other one is the outer.
bool HasOtherOrder(SizeAlgebra& algebra, const ValueFacts& facts, const StrideOrder& order) {
  if (!facts.order.is_known() || !order.is_known() || !facts.rank()) return false;
  const auto at_least = [&](size_t dim, int64_t least) { return algebra.IsAtLeast((*facts.sizes)[dim], least); };
  const std::vector<size_t> now = facts.order.Nesting(*facts.rank()), other = order.Nesting(*facts.rank());
  for (const size_t dim : now) {
    if (!at_least(dim, 1)) return false;
  }
  for (size_t outer = 0; outer < now.size(); ++outer) {
    for (size_t inner = outer + 1; inner < now.size(); ++inner) {
      if (!at_least(now[outer], 2) || !at_least(now[inner], 2)) continue;
      if (std::ranges::find(other, now[outer]) > std::ranges::find(other, now[inner])) return true;
    }
  }
  return false;
}
// The input itself, if it has the format.
void Contiguous(Call& call) {
  const ValueFacts& in = call.in(0);
  call.Give(0, in, in.dtype, in.sizes);
  const StrideOrder asked = OrderOfFormat(call);
  if (asked.IsLike(in.order)) return call.GiveOrder(in.order);
  call.GiveOrder(HasOtherOrder(call.sizes(), in, asked) ? asked : asked.Inexact());
}
void Clone(Call& call) {
  Like(call);
  call.GiveOrder(call.is_none("memory_format") ? OrderOfNewLike(call.sizes(), call.in(0)) : OrderOfFormat(call));
}
// Its second operand is the one that is subtracted from, whose order in memory comes first.
void ReverseBinary(Call& call) {
  Binary(call);
  const ValueFacts& a = call.in(0);
  const ValueFacts& b = call.in(1);
  if (!call.is_tensor_type(1) || a.order.IsLike(b.order)) return;
  if (call.out().order.is_known()) call.out().order = {};
}
void Divide(Call& call) {
  const Dtype dtype = Promoted(call, {0, 1});
  if (call.is_none("rounding_mode")) return Elementwise(call, Floating(dtype));
  const c10::IValue* mode = call.constant("rounding_mode");
  Elementwise(call, mode != nullptr && mode->isString() ? dtype : Dtype());
}

// Of the first input and those after it that are tensors: two of three, or one of two.
void OfTensors(Call& call, Dtype dtype) {
  Operands operands = {&call.in(0)};
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  for (size_t i = 1; i < std::min<size_t>(call.num_inputs(), 3); ++i) {
    if (!call.is_tensor_type(i)) continue;
    sizes = Broadcast(call.sizes(), std::move(sizes), call.in(i).sizes);
    operands.push_back(&call.in(i));
  }
  call.Give(0, call.in(0), dtype, sizes);
  call.GiveOrder(OrderOfAll(call.sizes(), std::move(operands), sizes));
}

// Bounds are tensors, numbers or None.
void Clamp(Call& call) {
  for (size_t i = 1; i < call.num_inputs(); ++i) {
    if (!call.is_tensor_type(i) && HasMemory(*call.node().input(i)->type())) return;
  }
  OfTensors(call, call.num_inputs() == 3 ? Promoted(call, {0, 1, 2}) : Promoted(call, {0, 1}));
}

void Where(Call& call) {
  if (call.num_inputs() != 3) return;
  OfTensors(call, Promoted(call, {1, 2}));
}
void BinaryOfThree(Call& call) {
  if (!call.is_tensor_type(1)) return;
  OfTensors(call, call.is_tensor_type(2) ? Promoted(call, {0, 1, 2}) : Promoted(call, {0, 1}));
}
void Add(Call& call) {
  const bool are_lists = call.in(0).kind == Kind::kList && call.in(1).kind == Kind::kList;
  are_lists ? JoinedLists(call) : Binary(call);
}
void MaskedFill(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, Broadcast(call.sizes(), call.in(0).sizes, call.in(1).sizes));
  call.GiveOrder(StrideOrder::Default(true));
}

using enum OperatorClass;

const OperatorDefinition kDefinitions[] = {
    {.name = "aten::lerp", .kind = kPointwise, .facts = BinaryOfThree, .scalar = scalar::Lerp},
    {.name = "aten::rrelu", .hides_aliases = true},
    {.name = "aten::add_", .list = ListRole::kExtend},
    {.name = "aten::relu",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Relu,
     .in_place = true,
     .epilogue = "relu"},
    {.name = "aten::relu6",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Relu6,
     .in_place = true,
     .epilogue = "relu6"},
    {.name = "aten::gelu",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Gelu,
     .in_place = true,
     .into = {"", "aten::gelu", "out"},
     .autocast = AutocastPolicy::kFull,
     .epilogue = "gelu"},
    {.name = "aten::silu",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Silu,
     .in_place = true,
     .into = {"", "aten::silu", "out"},
     .epilogue = "silu"},
    {.name = "aten::mish", .kind = kPointwise, .facts = LikeInOrder, .scalar = scalar::Mish, .in_place = true},
    {.name = "aten::selu", .kind = kPointwise, .facts = LikeInOrder, .scalar = scalar::Selu, .in_place = true},
    {.name = "aten::elu",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Elu,
     .in_place = true,
     .into = {"", "aten::elu", "out"}},
    {.name = "aten::celu", .kind = kPointwise, .facts = LikeInOrder, .scalar = scalar::Celu, .in_place = true},
    {.name = "aten::hardtanh",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Hardtanh,
     .in_place = true,
     .into = {"", "aten::hardtanh", "out"},
     .epilogue = "relu6"},
    {.name = "aten::hardswish",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Hardswish,
     .in_place = true,
     .epilogue = "hardswish"},
    {.name = "aten::hardsigmoid",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Hardsigmoid,
     .in_place = true},
    {.name = "aten::leaky_relu",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::LeakyRelu,
     .in_place = true,
     .into = {"", "aten::leaky_relu", "out"},
     .epilogue = "leaky_relu"},
    {.name = "aten::hardshrink", .kind = kPointwise, .facts = LikeInOrder, .scalar = scalar::Hardshrink},
    {.name = "aten::softshrink", .kind = kPointwise, .facts = LikeInOrder, .scalar = scalar::Softshrink},
    {.name = "aten::softplus",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Softplus,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::neg",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Negate,
     .number = number::Negate,
     .in_place = true,
     .into = {"", "aten::neg", "out"},
     .raises = Raises::kNotOnNumbers,
     .folding = Folding::kNumbers},
    {.name = "aten::floor",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Floor,
     .in_place = true,
     .folding = Folding::kNumbers},
    {.name = "aten::ceil",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Ceil,
     .in_place = true,
     .folding = Folding::kNumbers},
    {.name = "aten::round",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Round,
     .in_place = true,
     .folding = Folding::kNumbers},
    {.name = "aten::trunc", .kind = kPointwise, .facts = LikeInOrder, .scalar = scalar::Trunc, .in_place = true},
    {.name = "aten::frac", .kind = kPointwise, .facts = LikeInOrder, .scalar = scalar::Frac},
    {.name = "aten::sign", .kind = kPointwise, .facts = LikeInOrder, .scalar = scalar::Sign, .in_place = true},
    {.name = "aten::square", .kind = kPointwise, .facts = LikeInOrder, .scalar = scalar::Square, .in_place = true},
    {.name = "aten::threshold",
     .kind = kPointwise,
     .facts = LikeInOrder,
     .scalar = scalar::Threshold,
     .in_place = true},
    {.name = "aten::log_sigmoid", .kind = kPointwise, .facts = Like, .scalar = scalar::LogSigmoid},
    {.name = "aten::dropout", .kind = kDropout, .facts = Like, .in_place = true, .hides_aliases = true},
    {.name = "aten::feature_dropout", .kind = kDropout, .facts = Like, .in_place = true, .hides_aliases = true},
    {.name = "aten::alpha_dropout", .kind = kDropout, .facts = Like, .in_place = true, .hides_aliases = true},
    {.name = "aten::nan_to_num", .kind = kPointwise, .facts = Like, .scalar = scalar::NanToNum},
    {.name = "aten::bitwise_not",
     .kind = kPointwise,
     .facts = Like,
     .scalar = scalar::BitwiseNot,
     .folding = Folding::kNumbers},
    {.name = "aten::prelu", .kind = kPointwise, .facts = ItsInput, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::detach", .kind = kView, .facts = ItsInput, .raises = Raises::kNotOnOneOperand},
    {.name = "aten::alias", .kind = kView, .facts = ItsInput},
    {.name = "aten::sigmoid",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Sigmoid,
     .in_place = true,
     .into = {"", "aten::sigmoid", "out"},
     .epilogue = "sigmoid"},
    {.name = "aten::tanh",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Tanh,
     .in_place = true,
     .into = {"", "aten::tanh", "out"},
     .folding = Folding::kNumbers,
     .epilogue = "tanh"},
    {.name = "aten::exp",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Exp,
     .in_place = true,
     .into = {"", "aten::exp", "out"},
     .folding = Folding::kNumbers,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::exp2", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Exp2},
    {.name = "aten::expm1",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Expm1,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::log",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Log,
     .in_place = true,
     .into = {"", "aten::log", "out"},
     .folding = Folding::kNumbers,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::log1p",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Log1p,
     .folding = Folding::kNumbers,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::log2",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Log2,
     .folding = Folding::kNumbers,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::log10",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Log10,
     .folding = Folding::kNumbers,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::sqrt",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Sqrt,
     .in_place = true,
     .into = {"", "aten::sqrt", "out"},
     .folding = Folding::kNumbers},
    {.name = "aten::rsqrt",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Rsqrt,
     .in_place = true,
     .into = {"", "aten::rsqrt", "out"},
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::sin",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Sin,
     .in_place = true,
     .folding = Folding::kNumbers},
    {.name = "aten::cos",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Cos,
     .in_place = true,
     .folding = Folding::kNumbers},
    {.name = "aten::tan",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Tan,
     .folding = Folding::kNumbers,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::asin",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Asin,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::acos",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Acos,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::atan",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Atan,
     .folding = Folding::kNumbers},
    {.name = "aten::sinh",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Sinh,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::cosh",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Cosh,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::erf", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Erf, .in_place = true},
    {.name = "aten::erfc", .kind = kPointwise, .facts = LikeFloating, .scalar = scalar::Erfc},
    {.name = "aten::reciprocal",
     .kind = kPointwise,
     .facts = LikeFloating,
     .scalar = scalar::Reciprocal,
     .in_place = true,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::logical_not",
     .kind = kPointwise,
     .facts = LikeBool,
     .scalar = scalar::LogicalNot,
     .in_place = true},
    {.name = "aten::isnan",
     .kind = kPointwise,
     .facts = LikeBool,
     .scalar = scalar::IsNan,
     .folding = Folding::kNumbers},
    {.name = "aten::isinf",
     .kind = kPointwise,
     .facts = LikeBool,
     .scalar = scalar::IsInf,
     .folding = Folding::kNumbers},
    {.name = "aten::isfinite",
     .kind = kPointwise,
     .facts = LikeBool,
     .scalar = scalar::IsFinite,
     .folding = Folding::kNumbers},
    {.name = "aten::contiguous", .kind = kConversion, .facts = Contiguous, .scalar = scalar::Itself},
    {.name = "aten::clone", .kind = kConversion, .facts = Clone, .scalar = scalar::Itself},
    {.name = "aten::abs",
     .kind = kPointwise,
     .facts = Magnitude,
     .scalar = scalar::Abs,
     .in_place = true,
     .folding = Folding::kNumbers},
    {.name = "aten::clamp",
     .kind = kPointwise,
     .facts = Clamp,
     .scalar = scalar::Clamp,
     .in_place = true,
     .into = {"", "aten::clamp", "out"},
     .epilogue = "relu6"},
    {.name = "aten::clamp_min", .kind = kPointwise, .facts = Clamp, .scalar = scalar::ClampMin, .in_place = true},
    {.name = "aten::clamp_max", .kind = kPointwise, .facts = Clamp, .scalar = scalar::ClampMax, .in_place = true},
    {.name = "aten::clip", .kind = kPointwise, .facts = Clamp, .scalar = scalar::Clamp, .in_place = true},
    {.name = "aten::add",
     .kind = kPointwise,
     .facts = Add,
     .scalar = scalar::Add,
     .number = number::Add,
     .in_place = true,
     .into = {"Tensor", "aten::add", "out"},
     .commutes = "int float",
     .neutral = 0,
     .list = ListRole::kCopy,
     .raises = Raises::kNotOnNumbers,
     .folding = Folding::kScalars,
     .autocast = AutocastPolicy::kWidest},
    {.name = "aten::sub",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::Subtract,
     .number = number::Subtract,
     .in_place = true,
     .into = {"Tensor", "aten::sub", "out"},
     .neutral = 0,
     .raises = Raises::kNotOnNumbers,
     .folding = Folding::kNumbers,
     .autocast = AutocastPolicy::kWidest},
    {.name = "aten::mul",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::Multiply,
     .number = number::Multiply,
     .in_place = true,
     .into = {"Tensor", "aten::mul", "out"},
     .commutes = "int float",
     .neutral = 1,
     .raises = Raises::kNotOnNumbers,
     .folding = Folding::kNumbers,
     .autocast = AutocastPolicy::kWidest},
    {.name = "aten::maximum",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::Maximum,
     .into = {"", "aten::maximum", "out"}},
    {.name = "aten::minimum",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::Minimum,
     .into = {"", "aten::minimum", "out"}},
    {.name = "aten::fmod",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::Fmod,
     .in_place = true,
     .folding = Folding::kNumbers,
     .traps = true},
    {.name = "aten::remainder",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::Remainder,
     .number = number::Remainder,
     .in_place = true,
     .folding = Folding::kNumbers,
     .traps = true},
    {.name = "aten::rsub", .kind = kPointwise, .facts = ReverseBinary, .scalar = scalar::ReverseSubtract},
    {.name = "aten::floor_divide",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::FloorDivide,
     .in_place = true},
    {.name = "aten::pow",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::Power,
     .in_place = true,
     .folding = Folding::kNumbers,
     .autocast = AutocastPolicy::kFull},
    {.name = "aten::__and__",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::BitwiseAnd,
     .commutes = "int bool",
     .folding = Folding::kNumbers},
    {.name = "aten::__or__",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::BitwiseOr,
     .commutes = "int bool",
     .folding = Folding::kNumbers},
    {.name = "aten::__xor__",
     .kind = kPointwise,
     .facts = Binary,
     .scalar = scalar::BitwiseXor,
     .commutes = "int bool",
     .folding = Folding::kNumbers},
    {.name = "aten::bitwise_and", .kind = kPointwise, .facts = Binary, .scalar = scalar::BitwiseAnd, .in_place = true},
    {.name = "aten::bitwise_or", .kind = kPointwise, .facts = Binary, .scalar = scalar::BitwiseOr, .in_place = true},
    {.name = "aten::bitwise_xor", .kind = kPointwise, .facts = Binary, .scalar = scalar::BitwiseXor},
    {.name = "aten::true_divide", .kind = kPointwise, .facts = BinaryFloating, .scalar = scalar::Divide},
    {.name = "aten::atan2",
     .kind = kPointwise,
     .facts = BinaryFloating,
     .scalar = scalar::Atan2,
     .folding = Folding::kNumbers,
     .autocast = AutocastPolicy::kWidest},
    {.name = "aten::eq",
     .kind = kPointwise,
     .facts = Compare,
     .scalar = scalar::Equal,
     .in_place = true,
     .relation = Relation::kEqual,
     .commutes = "int float bool str",
     .raises = Raises::kNotOnNumbers,
     .folding = Folding::kScalars},
    {.name = "aten::ne",
     .kind = kPointwise,
     .facts = Compare,
     .scalar = scalar::NotEqual,
     .in_place = true,
     .relation = Relation::kNotEqual,
     .commutes = "int float bool str",
     .raises = Raises::kNotOnNumbers,
     .folding = Folding::kScalars},
    {.name = "aten::lt",
     .kind = kPointwise,
     .facts = Compare,
     .scalar = scalar::Less,
     .in_place = true,
     .relation = Relation::kLess,
     .commutes = "int float str",
     .raises = Raises::kNotOnNumbers,
     .folding = Folding::kScalars},
    {.name = "aten::le",
     .kind = kPointwise,
     .facts = Compare,
     .scalar = scalar::LessOrEqual,
     .in_place = true,
     .relation = Relation::kLessOrEqual,
     .commutes = "int float str",
     .raises = Raises::kNotOnNumbers,
     .folding = Folding::kScalars},
    {.name = "aten::gt",
     .kind = kPointwise,
     .facts = Compare,
     .scalar = scalar::Greater,
     .in_place = true,
     .relation = Relation::kGreater,
     .commutes = "int float str",
     .raises = Raises::kNotOnNumbers,
     .folding = Folding::kScalars},
    {.name = "aten::ge",
     .kind = kPointwise,
     .facts = Compare,
     .scalar = scalar::GreaterOrEqual,
     .in_place = true,
     .relation = Relation::kGreaterOrEqual,
     .commutes = "int float str",
     .raises = Raises::kNotOnNumbers,
     .folding = Folding::kScalars},
    {.name = "aten::logical_and", .kind = kPointwise, .facts = Compare, .scalar = scalar::LogicalAnd, .in_place = true},
    {.name = "aten::logical_or", .kind = kPointwise, .facts = Compare, .scalar = scalar::LogicalOr, .in_place = true},
    {.name = "aten::logical_xor", .kind = kPointwise, .facts = Compare, .scalar = scalar::LogicalXor},
    {.name = "aten::div",
     .kind = kPointwise,
     .facts = Divide,
     .scalar = scalar::Divide,
     .in_place = true,
     .into = {"Tensor", "aten::div", "out"},
     .folding = Folding::kNumbers,
     .autocast = AutocastPolicy::kWidest},
    {.name = "aten::divide", .kind = kPointwise, .facts = Divide, .scalar = scalar::Divide, .in_place = true},
    {.name = "aten::multiply", .kind = kPointwise, .facts = Binary, .scalar = scalar::Multiply, .in_place = true},
    {.name = "aten::subtract", .kind = kPointwise, .facts = Binary, .scalar = scalar::Subtract, .in_place = true},
    {.name = "aten::where", .kind = kPointwise, .facts = Where, .scalar = scalar::Where},
    {.name = "aten::masked_fill",
     .kind = kPointwise,
     .facts = MaskedFill,
     .scalar = scalar::MaskedFill,
     .in_place = true},
    {.name = "aten::addcdiv",
     .kind = kPointwise,
     .facts = BinaryOfThree,
     .scalar = scalar::Addcdiv,
     .in_place = true,
     .autocast = AutocastPolicy::kWidest},
    {.name = "aten::addcmul",
     .kind = kPointwise,
     .facts = BinaryOfThree,
     .scalar = scalar::Addcmul,
     .in_place = true,
     .autocast = AutocastPolicy::kWidest},
    {.name = "aten::copy",
     .kind = kPointwise,
     .facts = Copied,
     .scalar = scalar::Copied,
     .in_place = true,
     .list = ListRole::kCopy},
    {.name = "aten::fill", .kind = kPointwise, .facts = ItsInput, .scalar = scalar::Filled, .in_place = true},
    {.name = "aten::zero", .kind = kPointwise, .facts = ItsInput, .scalar = scalar::Zeros, .in_place = true},
    {.name = "aten::feature_alpha_dropout", .kind = kDropout, .hides_aliases = true},
    {.name = "aten::native_dropout", .kind = kRandom, .hides_aliases = true},
};

}  // namespace

std::span<const OperatorDefinition> PointwiseDefinitions() { return kDefinitions; }

}  // namespace hearth
