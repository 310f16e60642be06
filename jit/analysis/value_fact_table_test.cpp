// What is inferred of an operator's result is held against what LibTorch gives.
#include "jit/analysis/value_fact_table.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/interpreter/random_graphs.h"
#include "jit/ir/parser.h"
#include "jit/ir/verifier.h"

namespace hearth {
namespace {

using c10::IValue;

// The sizes of a run's arguments, by what they are called in facts.
class KnownArguments {
 public:
  KnownArguments(ValueFactTable* table, const Graph& graph, const std::vector<IValue>& arguments) : table_(table) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ValueFacts& facts = table->Of(*graph.inputs()[i]);
      if (arguments[i].isInt()) Add(facts.number, arguments[i].toInt());
      for (size_t d = 0; arguments[i].isTensor() && facts.sizes && d < facts.sizes->size(); ++d) {
        Add((*facts.sizes)[d], arguments[i].toTensor().size(static_cast<int64_t>(d)));
      }
    }
  }

  // What the size is in that run, if it is computed of them alone.
  KnownSize Of(KnownSize size) const {
    for (const SizeAlgebra::Meaning& meaning : meanings_) size = table_->sizes().Substitute(size, meaning);
    return size;
  }

 private:
  void Add(KnownSize size, int64_t is) {
    if (const auto meaning = table_->sizes().Solve(size, is)) meanings_.push_back(*meaning);
  }

  ValueFactTable* table_;
  std::vector<SizeAlgebra::Meaning> meanings_;
};

size_t ExpectIs(KnownSize size, int64_t is, const KnownArguments& arguments) {
  size = arguments.Of(size);
  if (!size) return 0;
  EXPECT_EQ(*size, is);
  return 1;
}

// How many things are known, all of which must be so.
size_t ExpectHolds(const ValueFacts& facts, const IValue& value, const KnownArguments& arguments) {
  switch (facts.kind) {
    case ValueFacts::Kind::kUnknown:
      return 0;
    case ValueFacts::Kind::kNever:
      ADD_FAILURE() << "a run came to have it";
      return 0;
    case ValueFacts::Kind::kNone:
      EXPECT_TRUE(value.isNone());
      return 1;
    case ValueFacts::Kind::kFloat:
      EXPECT_TRUE(value.isDouble());
      return 1;
    case ValueFacts::Kind::kBool:
      EXPECT_TRUE(value.isBool());
      return 1;
    case ValueFacts::Kind::kString:
      EXPECT_TRUE(value.isString());
      return 1;
    case ValueFacts::Kind::kInt:
      return ExpectIs(facts.number, value.toInt(), arguments);
    case ValueFacts::Kind::kList:
    case ValueFacts::Kind::kTuple: {
      const auto elements = value.isTuple() ? c10::ArrayRef<IValue>(value.toTupleRef().elements())
                                            : c10::ArrayRef<IValue>(value.toListRef());
      EXPECT_EQ(*facts.length(), elements.size());
      size_t known = 1;
      for (size_t i = 0; i < facts.elements.size(); ++i)
        known += ExpectHolds(facts.elements[i], elements[i], arguments);
      for (size_t i = 0; facts.sizes && i < facts.sizes->size(); ++i) {
        known += ExpectIs((*facts.sizes)[i], elements[i].toInt(), arguments);
      }
      return known;
    }
    case ValueFacts::Kind::kTensor:
      break;
  }
  if (!value.isTensor() || !value.toTensor().defined()) {
    ADD_FAILURE() << "not a tensor";
    return 0;
  }
  const at::Tensor& tensor = value.toTensor();
  size_t known = 0;
  if (facts.dtype) {
    ++known;
    EXPECT_EQ(*facts.dtype, tensor.scalar_type());
  }
  if (facts.device) {
    ++known;
    EXPECT_EQ(*facts.device, tensor.device());
  }
  if (facts.requires_grad) {
    ++known;
    EXPECT_EQ(*facts.requires_grad, tensor.requires_grad());
  }
  if (facts.plain) {
    ++known;
    EXPECT_EQ(tensor.layout(), c10::kStrided);
  }
  if (facts.order.is_known()) {
    ++known;
    EXPECT_TRUE(facts.order.HoldsOf(tensor)) << tensor.sizes() << " with strides " << tensor.strides();
  }
  if (facts.suggested_format) {
    ++known;
    EXPECT_EQ(*facts.suggested_format, tensor.suggest_memory_format());
  }
  if (facts.sizes) {
    ++known;
    EXPECT_EQ(facts.sizes->size(), static_cast<size_t>(tensor.dim()));
    for (size_t i = 0; i < facts.sizes->size() && i < static_cast<size_t>(tensor.dim()); ++i) {
      known += ExpectIs((*facts.sizes)[i], tensor.size(static_cast<int64_t>(i)), arguments);
    }
  }
  return known;
}

// One statement over tensors of several kinds; constants are written in place as {value}.
class Program {
 public:
  explicit Program(const std::string& statement, const std::string& type) {
    std::string line;
    for (size_t i = 0; i < statement.size(); ++i) {
      if (statement[i] != '{') {
        line += statement[i];
        continue;
      }
      const size_t end = statement.find('}', i);
      const std::string literal = statement.substr(i + 1, end - i - 1);
      const size_t colon = literal.find(':');
      const std::string name = "%c" + std::to_string(i);
      constants_ += "  " + name + " : " + literal.substr(0, colon) +
                    " = prim::Constant[value=" + literal.substr(colon + 1) + "]()\n";
      line += name;
      i = end;
    }
    text_ = "graph(%x : Tensor, %y : Tensor, %w : Tensor, %i : Tensor, %b : Tensor, %s : Tensor):\n" + constants_ +
            (statement.find("%xs") == std::string::npos ? "" : "  %xs : List[Tensor] = prim::ListConstruct(%x, %x)\n") +
            "  %r : " + type + " = " + line + "\n  return (%r)\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string constants_;
  std::string text_;
};

std::vector<std::vector<IValue>> Examples() {
  const at::Tensor x = at::rand({2, 3, 4, 4});
  const at::Tensor w = at::rand({6, 3, 3, 3});
  const at::Tensor i = at::arange(8).reshape({2, 4}).remainder(2);
  const at::Tensor s = at::scalar_tensor(2.0, at::kDouble);
  return {
      {x, at::rand({1, 4}), w, i, at::rand({4}) > 0.5, s},
      {x.contiguous(at::MemoryFormat::ChannelsLast), at::rand({4, 4}).t(), w, i, at::rand({4}) > 0.5, s},
      {x.to(at::kDouble), at::rand({3, 4, 1}), w.to(at::kDouble), i, at::rand({1}) > 0.5,
       at::scalar_tensor(3, at::kLong)},
      {at::rand({1, 3, 4, 4}, at::kBFloat16), at::rand({4}), w.to(at::kBFloat16), i.to(at::kInt), at::rand({4}) > 0.5,
       at::scalar_tensor(1.5, at::kFloat)},
      {at::rand({2, 3, 4, 4}).requires_grad_(), at::rand({1, 4}), w, i, at::rand({4, 4}) > 0.5, s},
      {x, at::rand({3, 5, 2, 2}), w, i, at::rand({4}) > 0.5, s},
      {at::randint(1, 5, {2, 3, 4, 4}), at::randint(1, 5, {4}), w.to(at::kLong), i, at::rand({4}) > 0.5, s},
      {at::rand({1, 3, 4, 4}), at::rand({2, 3, 4, 4}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({4, 1, 4, 3}).permute({2, 1, 3, 0}).slice(3, 0, 4, 2), at::rand({2, 2}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({1, 3, 1, 4}), at::rand({3, 4, 1}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({2, 1, 1}), at::rand({1, 1, 1, 1}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({0, 1, 4, 4}), at::rand({1, 4}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({1, 3, 0, 4}), at::rand({3, 1, 4}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({2, 3}), at::rand({2, 4}), at::rand({12, 3}), at::rand({12, 4}), at::rand({4}) > 0.5, s},
      {at::rand({1, 3}), at::rand({4, 1}).t(), at::rand({12, 3}), at::rand({12, 4}), at::rand({4}) > 0.5, s},
      {at::rand({3, 2}).t(), at::rand({4, 2}).t(), at::rand({12, 3}), at::rand({12, 4}), at::rand({4}) > 0.5, s},
      {at::rand({4, 4}), at::rand({2, 4, 4}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({2, 5, 4, 4}).transpose(0, 1), at::rand({2, 4, 4}).transpose(1, 2), w, i, at::rand({4}) > 0.5, s},
      {at::rand({3, 4}), at::rand({4}), w, i, at::rand({4}) > 0.5, s},
      {at::empty_strided({1, 1, 4, 4}, {77, 5, 4, 1}).fill_(1), at::rand({5, 4}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({2, 3, 4, 4}, at::kComplexFloat), at::rand({4}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({1, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast), at::rand({3, 1, 1}), w, i,
       at::rand({4}) > 0.5, s},
      {at::rand({2, 4, 5, 3}).permute({0, 3, 1, 2}), at::rand({1, 3, 1, 1}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({2, 5, 3, 4}).permute({0, 2, 3, 1}), at::rand({2, 3, 4, 5}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({2, 4, 5, 3}).permute({0, 3, 1, 2}), at::rand({2, 3, 1, 1}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({2, 4, 5, 3}).permute({0, 3, 1, 2}), at::rand({2, 3, 4, 5}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({2, 4, 5, 3}).permute({0, 3, 1, 2}), at::rand({4, 5}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({2, 1, 1, 3}).permute({0, 3, 1, 2}), at::rand({3, 1, 1}), w, i, at::rand({4}) > 0.5, s},
      {at::rand({2, 4, 4, 1}).permute({0, 3, 1, 2}), at::rand({3, 1, 1}), w.slice(1, 0, 1), i, at::rand({4}) > 0.5, s},
      {at::rand({2, 3, 4, 4}), at::rand({4}), w.contiguous(at::MemoryFormat::ChannelsLast), i, at::rand({4}) > 0.5, s},
      // Contiguous in two formats.
      {at::empty_strided({2, 3, 1, 1}, {3, 1, 3, 3}).fill_(1), at::rand({3, 1, 1}), w, i, at::rand({4}) > 0.5, s},
  };
}

const std::vector<std::pair<const char*, const char*>>& Statements() {
  static const std::vector<std::pair<const char*, const char*>> kStatements = {
      {"Tensor", "aten::relu(%x)"},
      {"Tensor", "aten::gelu(%x, {str:\"none\"})"},
      {"Tensor", "aten::silu(%x)"},
      {"Tensor", "aten::hardswish(%x)"},
      {"Tensor", "aten::neg(%x)"},
      {"Tensor", "aten::abs(%x)"},
      {"Tensor", "aten::sigmoid(%x)"},
      {"Tensor", "aten::exp(%x)"},
      {"Tensor", "aten::isnan(%x)"},
      {"Tensor", "aten::clamp(%x, {int:0}, {float:0.5})"},
      {"Tensor", "aten::clamp(%x, {NoneType:None}, {int:3})"},
      {"Tensor", "aten::clone(%x, {NoneType:None})"},
      {"Tensor", "aten::contiguous(%x, {int:0})"},
      {"Tensor", "aten::contiguous(%x, {int:2})"},
      {"Tensor", "aten::clone(%x, {int:2})"},
      {"Tensor", "aten::hardtanh(%x, {float:-1.0}, {float:1.0})"},
      {"Tensor", "aten::hardsigmoid(%x)"},
      {"Tensor", "aten::leaky_relu(%x, {float:0.1})"},
      {"Tensor", "aten::mish(%x)"},
      {"Tensor", "aten::elu(%x, {int:1}, {int:1}, {int:1})"},
      {"Tensor", "aten::softplus(%x, {int:1}, {int:20})"},
      {"Tensor", "aten::tanh(%x)"},
      {"Tensor", "aten::mul.Tensor(%x, %x)"},
      {"Tensor", "aten::mul.Tensor(%y, %x)"},
      {"Tensor", "aten::mul.Tensor(%x, %s)"},
      {"Tensor", "aten::mul.Tensor(%s, %x)"},
      {"Tensor", "aten::permute(%x, {List[int]:[0, 3, 1, 2]})"},
      {"Tensor", "aten::permute(%x, {List[int]:[0, 2, 3, 1]})"},
      {"Tensor", "aten::mean.dim(%x, {List[int]:[2, 3]}, {bool:True}, {NoneType:None})"},
      {"Tensor", "aten::sum.dim_IntList(%x, {List[int]:[1]}, {bool:False}, {NoneType:None})"},
      {"Tensor", "aten::amax(%x, {List[int]:[1]}, {bool:True})"},
      {"Tensor", "aten::adaptive_avg_pool2d(%x, {List[int]:[1, 1]})"},
      {"Tensor", "aten::adaptive_avg_pool2d(%x, {List[int]:[3, 2]})"},
      {"Tensor", "aten::upsample_nearest2d(%x, {List[int]:[8, 8]}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::cat(%xs, {int:1})"},
      {"Tensor", "aten::cat(%xs, {int:2})"},
      {"Tensor", "aten::detach(%x)"},
      {"Tensor", "aten::cumsum(%x, {int:1}, {NoneType:None})"},
      {"Tensor", "aten::logaddexp(%x, %y)"},
      {"Tensor", "aten::norm.ScalarOpt_dim(%x, {int:2}, {List[int]:[1]}, {bool:True})"},
      {"Tensor", "aten::norm.Scalar(%x, {int:2})"},
      {"Tensor", "aten::linalg_vector_norm(%x, {int:2}, {List[int]:[-1]}, {bool:False}, {NoneType:None})"},
      {"Tensor", "aten::logsumexp(%x, {List[int]:[1]}, {bool:False})"},
      {"Tensor", "aten::addcmul(%x, %y, %x, {int:2})"},
      {"Tensor", "aten::addcdiv(%x, %x, %y, {int:2})"},
      {"Tensor", "aten::lerp.Scalar(%x, %y, {float:0.5})"},
      {"Tensor", "aten::lerp.Tensor(%x, %y, %x)"},
      {"Tensor", "aten::rms_norm(%x, {List[int]:[4]}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::smooth_l1_loss(%x, %x, {int:1}, {float:1.0})"},
      {"Tensor", "aten::mse_loss(%x, %x, {int:2})"},
      {"Tensor", "aten::l1_loss(%x, %x, {int:0})"},
      {"Tensor", "aten::masked_select(%x, %b)"},
      {"Tensor", "aten::repeat_interleave.self_int(%x, {int:3}, {int:1}, {NoneType:None})"},
      {"Tensor", "aten::repeat_interleave.self_int(%x, {int:3}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::one_hot(%i, {int:14})"},
      {"Tensor", "aten::glu(%x, {int:-1})"},
      {"Tensor", "aten::pixel_shuffle(%w, {int:1})"},
      {"Tensor", "aten::unfold(%x, {int:2}, {int:2}, {int:1})"},
      {"Tensor", "aten::unfold(%x, {int:-1}, {int:2}, {int:2})"},
      {"Tensor", "aten::diff(%x, {int:1}, {int:-1}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::diff(%x, {int:2}, {int:0}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::diff(%x, {int:1}, {int:0}, %x, {NoneType:None})"},
      {"Tensor", "aten::flip(%x, {List[int]:[2]})"},
      {"Tensor", "aten::roll(%x, {List[int]:[1]}, {List[int]:[2]})"},
      {"Tensor", "aten::add.Tensor(%x, %y, {int:1})"},
      {"Tensor", "aten::add.Tensor(%x, %s, {int:1})"},
      {"Tensor", "aten::add.Tensor(%s, %i, {int:1})"},
      {"Tensor", "aten::add.Scalar(%i, {float:1.5}, {int:1})"},
      {"Tensor", "aten::add.Scalar(%b, {int:1}, {int:1})"},
      {"Tensor", "aten::mul.Tensor(%b, %y)"},
      {"Tensor", "aten::mul.Scalar(%x, {int:2})"},
      {"Tensor", "aten::sub.Tensor(%x, %x, {int:1})"},
      {"Tensor", "aten::rsub.Scalar(%x, {float:1.0}, {int:1})"},
      {"Tensor", "aten::div.Tensor(%i, %i)"},
      {"Tensor", "aten::div.Tensor(%x, %y)"},
      {"Tensor", "aten::div.Scalar(%i, {int:2})"},
      {"Tensor", "aten::div.Tensor_mode(%x, %y, {str:\"floor\"})"},
      {"Tensor", "aten::floor_divide(%x, %s)"},
      {"Tensor", "aten::remainder.Scalar(%x, {int:2})"},
      {"Tensor", "aten::pow.Tensor_Scalar(%x, {float:2.0})"},
      {"Tensor", "aten::pow.Scalar({int:2}, %x)"},
      {"Tensor", "aten::eq.Tensor(%x, %y)"},
      {"Tensor", "aten::lt.Scalar(%x, {float:0.5})"},
      {"Tensor", "aten::logical_and(%x, %b)"},
      {"Tensor", "aten::maximum(%x, %y)"},
      {"Tensor", "aten::where.self(%b, %x, %y)"},
      {"Tensor", "aten::where.ScalarOther(%b, %y, {float:0.5})"},
      {"Tensor", "aten::where.Scalar(%b, {int:1}, {float:0.5})"},
      {"Tensor", "aten::masked_fill.Scalar(%y, %b, {float:0.0})"},
      {"Tensor", "aten::masked_fill.Scalar(%x, %b, {float:0.0})"},
      {"Tensor", "aten::fill.Scalar(%x, {float:0.5})"},
      {"Tensor", "aten::zero(%x)"},
      {"Tensor", "aten::copy(%x, %s, {bool:False})"},
      {"Tensor", "aten::slice_scatter(%x, %x, {int:1}, {int:0}, {int:9223372036854775807}, {int:1})"},
      {"Tensor", "aten::view(%i, {List[int]:[4, -1]})"},
      {"Tensor", "aten::reshape(%x, {List[int]:[-1, 16]})"},
      {"Tensor", "aten::flatten.using_ints(%x, {int:1}, {int:-1})"},
      {"Tensor", "aten::flatten.using_ints(%s, {int:0}, {int:-1})"},
      {"Tensor", "aten::unflatten.int(%x, {int:-1}, {List[int]:[2, -1]})"},
      {"Tensor", "aten::unsqueeze(%x, {int:-1})"},
      {"Tensor", "aten::unsqueeze(%s, {int:0})"},
      {"Tensor", "aten::squeeze.dim(%x, {int:0})"},
      {"Tensor", "aten::squeeze(%s)"},
      {"Tensor", "aten::transpose.int(%x, {int:1}, {int:-1})"},
      {"Tensor", "aten::t(%i)"},
      {"Tensor", "aten::permute(%x, {List[int]:[0, 2, 3, 1]})"},
      {"Tensor", "aten::expand(%y, {List[int]:[3, 4, 4]}, {bool:False})"},
      {"Tensor", "aten::select.int(%x, {int:1}, {int:0})"},
      {"Tensor", "aten::slice.Tensor(%x, {int:1}, {int:0}, {int:2}, {int:1})"},
      {"Tensor", "aten::slice.Tensor(%x, {int:1}, {int:0}, {int:9223372036854775807}, {int:1})"},
      {"Tensor", "aten::narrow(%x, {int:1}, {int:0}, {int:2})"},
      {"Tensor", "aten::linear(%x, %y, {NoneType:None})"},
      {"Tensor", "aten::linear(%x, %y, %y)"},
      {"Tensor", "aten::gru_cell(%x, %y, %w, %i, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::matmul(%x, %x)"},
      {"Tensor", "aten::matmul(%x, %y)"},
      {"Tensor", "aten::matmul(%y, %y)"},
      {"Tensor",
       "aten::conv2d(%x, %w, {NoneType:None}, {List[int]:[2, 1]}, {List[int]:[1, 0]}, {List[int]:[1, 1]}, {int:1})"},
      {"Tensor",
       "aten::conv_transpose2d(%x, %y, {NoneType:None}, {List[int]:[1, 1]}, {List[int]:[0, 0]}, {List[int]:[0, 0]}, "
       "{int:1}, {List[int]:[1, 1]})"},
      {"Tensor",
       "aten::scaled_dot_product_attention(%x, %x, %x, {NoneType:None}, {float:0.0}, {bool:False}, {NoneType:None}, "
       "{bool:False})"},
      {"Tensor",
       "aten::scaled_dot_product_attention(%x, %y, %y, {NoneType:None}, {float:0.0}, {bool:False}, {NoneType:None}, "
       "{bool:False})"},
      {"Tensor",
       "aten::scaled_dot_product_attention(%y, %x, %x, {NoneType:None}, {float:0.0}, {bool:False}, {NoneType:None}, "
       "{bool:False})"},
      {"Tensor", "aten::sum(%x, {NoneType:None})"},
      {"Tensor", "aten::sum(%b, {NoneType:None})"},
      {"Tensor", "aten::sum.dim_IntList(%x, {List[int]:[1, -1]}, {bool:True}, {NoneType:None})"},
      {"Tensor", "aten::mean.dim(%x, {List[int]:[2, 3]}, {bool:False}, {NoneType:None})"},
      {"Tensor", "aten::mean(%i, {int:6})"},
      {"Tensor", "aten::amax(%x, {List[int]:[]}, {bool:False})"},
      {"Tensor", "aten::var.dim(%x, {List[int]:[1]}, {bool:False}, {bool:True})"},
      {"Tensor", "aten::var(%x, {bool:True})"},
      {"Tensor", "aten::any(%b)"},
      {"Tensor", "aten::any.dims(%b, {List[int]:[]}, {bool:False})"},
      {"Tensor", "aten::all.dims(%b, {List[int]:[-1]}, {bool:True})"},
      {"Tensor", "aten::all.dim(%x, {int:1}, {bool:False})"},
      {"Tensor", "aten::argmax(%x, {int:1}, {bool:False})"},
      {"Tensor", "aten::argmax(%x, {NoneType:None}, {bool:False})"},
      {"Tensor", "aten::max(%x)"},
      {"Tensor", "aten::max.other(%x, %y)"},
      {"Tensor", "aten::softmax.int(%x, {int:1}, {NoneType:None})"},
      {"Tensor", "aten::softmax.int(%x, {int:1}, {int:7})"},
      {"Tensor", "aten::layer_norm(%x, {List[int]:[4]}, {NoneType:None}, {NoneType:None}, {float:1e-05}, {bool:True})"},
      {"Tensor", "aten::group_norm(%x, {int:3}, {NoneType:None}, {NoneType:None}, {float:1e-05}, {bool:True})"},
      {"Tensor",
       "aten::max_pool2d(%x, {List[int]:[2, 2]}, {List[int]:[2, 2]}, {List[int]:[0, 0]}, {List[int]:[1, 1]}, "
       "{bool:False})"},
      {"Tensor", "aten::adaptive_avg_pool2d(%x, {List[int]:[1, 1]})"},
      {"Tensor", "aten::upsample_nearest2d.vec(%x, {List[int]:[8, 8]}, {NoneType:None})"},
      {"Tensor", "aten::constant_pad_nd(%x, {List[int]:[1, 1]}, {int:0})"},
      {"Tensor", "aten::embedding(%y, %i, {int:-1}, {bool:False}, {bool:False})"},
      {"Tensor", "aten::embedding(%i, %i, {int:-1}, {bool:False}, {bool:False})"},
      {"Tensor", "aten::index_select(%x, {int:3}, %s)"},
      {"Tensor", "aten::gather(%i, {int:0}, %i, {bool:False})"},
      {"Tensor", "aten::nonzero(%x)"},
      {"Tensor", "aten::cat(%xs, {int:0})"},
      {"Tensor", "aten::cat(%xs, {int:2})"},
      {"Tensor", "aten::stack(%xs, {int:0})"},
      {"Tensor", "aten::repeat(%x, {List[int]:[2, 1, 1, 1, 3]})"},
      {"Tensor", "aten::zeros({List[int]:[2, 3]}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor",
       "aten::full({List[int]:[2, 3]}, {int:3}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::arange({int:4}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::arange({float:4.0}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::zeros_like(%x, {int:4}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor",
       "aten::new_ones(%x, {List[int]:[2]}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::tensor.float({float:1.5}, {NoneType:None}, {NoneType:None}, {bool:False})"},
      {"Tensor", "aten::tensor.int({int:1}, {NoneType:None}, {NoneType:None}, {bool:False})"},
      {"Tensor", "aten::tensor({List[int]:[1, 2]}, {NoneType:None}, {NoneType:None}, {bool:False})"},
      {"Tensor", "aten::tensor({List[float]:[]}, {NoneType:None}, {NoneType:None}, {bool:False})"},
      {"Tensor", "aten::as_tensor.list({List[float]:[0.5, 1.5]}, {int:6}, {Device:device(\"cpu\")})"},
      {"Tensor", "aten::as_tensor.float({float:0.5}, {NoneType:None}, {NoneType:None})"},
      {"Tensor",
       "aten::linspace({int:0}, {int:1}, {int:5}, {int:6}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "prim::NumToTensor.Scalar({int:1})"},
      {"Tensor", "aten::to.dtype(%x, {int:7}, {bool:False}, {bool:False}, {NoneType:None})"},
      {"Tensor", "aten::to.device(%x, {Device:device(\"cpu\")}, {int:6}, {bool:False}, {bool:False}, {NoneType:None})"},
      {"Tensor", "aten::to.other(%x, %y, {bool:False}, {bool:False}, {NoneType:None})"},
      {"Tensor", "aten::type_as(%x, %s)"},
      {"Tensor", "aten::triu(%x, {int:0})"},
      {"Tensor", "aten::dropout(%x, {float:0.5}, {bool:False})"},
      {"List[Tensor]", "aten::unbind.int(%i, {int:0})"},
      {"List[Tensor]", "aten::split_with_sizes(%x, {List[int]:[1, 2]}, {int:1})"},
      {"List[int]", "aten::size(%x)"},
      {"int", "aten::size.int(%x, {int:-1})"},
      {"int", "aten::len.Tensor(%x)"},
      {"int", "aten::dim(%x)"},
      {"int", "aten::numel(%x)"},
      {"List[Tensor]", "aten::split.Tensor(%x, {int:2}, {int:1})"},
      {"List[Tensor]", "aten::chunk(%x, {int:2}, {int:1})"},
      {"Tensor",
       "aten::max_pool2d(%x, {List[int]:[3, 2]}, {List[int]:[]}, {List[int]:[1, 0]}, {List[int]:[1, 1]}, {bool:True})"},
      {"Tensor", "aten::slice.Tensor(%x, {int:2}, {int:-3}, {int:3}, {int:2})"},
      {"Tensor", "aten::slice.Tensor(%x, {int:2}, {int:3}, {int:1}, {int:1})"},
      {"Tensor", "aten::slice.Tensor(%x, {int:2}, {int:-9}, {int:9}, {int:3})"},
      {"Tensor", "aten::add_.Tensor(%x, %s, {int:1})"},
      {"Tensor", "aten::unsqueeze_(%x, {int:0})"},
      {"Tensor", "aten::copy_(%x, %y, {bool:False})"},
  };
  return kStatements;
}

TEST(ValueFactTableTest, WhatIsInferredOfAnOperatorIsWhatLibTorchGives) {
  size_t known = 0;
  for (const auto& [type, statement] : Statements()) {
    const std::string text = Program(statement, type).text();
    SCOPED_TRACE(text);
    const std::unique_ptr<Graph> graph = ParseGraph(text);
    Verify(*graph);
    bool ran_once = false;
    for (std::vector<IValue> example : Examples()) {
      const WrittenMemory memory(*graph, nullptr);
      SizeAlgebra sizes;
      ValueFactTable table(*graph, ArgumentSpec::Of(example).value().Facts(), memory, sizes);
      table.InferAll();
      for (IValue& argument : example)
        argument = argument.toTensor().detach().clone().requires_grad_(argument.toTensor().requires_grad());
      const std::vector<IValue> before = example;
      std::vector<IValue> results;
      try {
        results = GraphWalker().Walk(*graph, example);
      } catch (const std::exception&) {
        continue;
      }
      ran_once = true;
      const KnownArguments arguments(&table, *graph, before);
      known += ExpectHolds(table.Of(*graph->outputs()[0]), results[0], arguments);
      for (size_t i = 0; i < example.size(); ++i) ExpectHolds(table.Of(*graph->inputs()[i]), example[i], arguments);
    }
    EXPECT_TRUE(ran_once) << "no example fits";
  }
  EXPECT_GE(known, 30 * Statements().size());
}

// Dense in two orders with one pixel, and in one alone with the four that the window makes of it.
TEST(ValueFactTableTest, AnOrderThatOnePixelLeavesOpenIsNotThatOfSeveral) {
  const char* const text = R"(graph(%x : Tensor):
  %two : List[int] = prim::Constant[value=[2, 2]]()
  %one : List[int] = prim::Constant[value=[1, 1]]()
  %no : bool = prim::Constant[value=False]()
  %view : Tensor = aten::detach(%x)
  %r : Tensor = aten::max_pool2d(%view, %two, %one, %one, %one, %no)
  return (%r)
)";
  const std::unique_ptr<Graph> graph = ParseGraph(text);
  const std::vector<IValue> arguments = {at::empty_strided({2, 3, 1, 1}, {3, 1, 3, 3}).fill_(1)};
  const WrittenMemory memory(*graph, nullptr);
  SizeAlgebra sizes;
  ValueFactTable table(*graph, ArgumentSpec::Of(arguments).value().Facts(), memory, sizes);
  table.InferAll();
  const KnownArguments known(&table, *graph, arguments);
  EXPECT_GT(ExpectHolds(table.Of(*graph->outputs()[0]), GraphWalker().Walk(*graph, arguments)[0], known), 0);
}

// Several statements, of which all is returned.
struct Shapes {
  const char* text;
  size_t known;  // at least, of all sizes and numbers in all runs
  std::vector<std::vector<IValue>> examples;
};

const std::vector<Shapes>& Texts() {
  static const std::vector<Shapes> kTexts = {
      {R"(graph(%x : Tensor, %w : Tensor, %h : int):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %4 : int = prim::Constant[value=4]()
  %last : int = prim::Constant[value=-1]()
  %none : NoneType = prim::Constant[value=None]()
  %b : int = aten::size.int(%x, %0)
  %t : int = aten::size.int(%x, %1)
  %c : int = aten::size.int(%x, %last)
  %y : Tensor = aten::linear(%x, %w, %none)
  %d : int = aten::floordiv.int(%c, %4)
  %heads : List[int] = prim::ListConstruct(%b, %t, %4, %d)
  %apart : Tensor = aten::view(%y, %heads)
  %transposed : Tensor = aten::transpose.int(%apart, %1, %2)
  %transposed_back : Tensor = aten::transpose.int(%transposed, %1, %2)
  %rest : List[int] = prim::ListConstruct(%b, %t, %last)
  %flat : Tensor = aten::reshape(%transposed_back, %rest)
  %sum : Tensor = aten::add.Tensor(%flat, %x, %1)
  %k : Tensor = aten::transpose.int(%transposed, %2, %last)
  %scores : Tensor = aten::matmul(%transposed, %k)
  %n : int = aten::numel(%scores)
  %sizes : List[int] = aten::size(%scores)
  %s0 : int = aten::__getitem__.t(%sizes, %0)
  %s3 : int = aten::__getitem__.t(%sizes, %last)
  %o : int = aten::remainder.int(%t, %4)
  %over : int = aten::sub.int(%4, %o)
  %less : int = aten::neg.int(%over)
  %asked : List[int] = prim::ListConstruct(%b, %h, %t)
  %by_asked : Tensor = aten::reshape(%sum, %asked)
  return (%b, %t, %c, %y, %d, %apart, %transposed, %transposed_back, %flat, %sum, %k, %scores, %n, %s0, %s3, %o, %over, %less, %by_asked)
)",
       100,
       {{at::rand({2, 5, 8}), at::rand({8, 8}), 8},
        {at::rand({1, 3, 8}), at::rand({8, 8}), -1},
        {at::rand({3, 4, 12}), at::rand({12, 12}), -1}}},
      {R"(graph(%x : Tensor, %w : Tensor):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %3 : int = prim::Constant[value=3]()
  %m2 : int = prim::Constant[value=-2]()
  %end : int = prim::Constant[value=9223372036854775807]()
  %false : bool = prim::Constant[value=False]()
  %zero : float = prim::Constant[value=0.0]()
  %mode : str = prim::Constant[value="constant"]()
  %none : NoneType = prim::Constant[value=None]()
  %ones : List[int] = prim::Constant[value=[1, 1]]()
  %twos : List[int] = prim::Constant[value=[2, 2]]()
  %no : List[int] = prim::Constant[value=[]]()
  %y : Tensor = aten::conv2d(%x, %w, %none, %twos, %ones, %ones, %1)
  %pooled : Tensor = aten::max_pool2d(%x, %twos, %no, %ones, %ones, %false)
  %means : Tensor = aten::avg_pool2d(%x, %twos, %ones, %ones, %false, %false, %none)
  %pads : List[int] = prim::Constant[value=[1, 2, 0, 3]]()
  %padded : Tensor = aten::pad(%x, %pads, %mode, %none)
  %tail : Tensor = aten::slice.Tensor(%x, %2, %1, %end, %1)
  %head : Tensor = aten::slice.Tensor(%x, %2, %0, %m2, %1)
  %ends : Tensor = aten::slice.Tensor(%x, %3, %m2, %end, %1)
  %every : Tensor = aten::slice.Tensor(%x, %3, %0, %end, %2)
  %h : int = aten::size.int(%x, %2)
  %before : int = aten::sub.int(%h, %1)
  %cut : Tensor = aten::slice.Tensor(%x, %2, %0, %before, %1)
  %whole : Tensor = aten::slice.Tensor(%x, %2, %0, %h, %1)
  %list : List[Tensor] = prim::ListConstruct(%tail, %cut)
  %joined : Tensor = aten::cat(%list, %2)
  %piled : Tensor = aten::stack(%list, %0)
  %times : List[int] = prim::Constant[value=[1, 2, 1, 3]]()
  %repeated : Tensor = aten::repeat(%x, %times)
  %parts : List[Tensor] = aten::chunk(%repeated, %3, %3)
  %a : Tensor = aten::__getitem__.t(%parts, %1)
  %flat : Tensor = aten::flatten.using_ints(%x, %1, %m2)
  %made : Tensor = aten::arange(%h, %none, %none, %none, %none)
  %indices : List[Optional[Tensor]] = prim::ListConstruct(%none, %none, %made)
  %picked : Tensor = aten::index.Tensor(%x, %indices)
  %wide : List[int] = prim::ListConstruct(%2, %h)
  %expanded : Tensor = aten::expand(%made, %wide, %false)
  %squares : Tensor = aten::nonzero(%x)
  %squared : Tensor = aten::mul.Tensor(%squares, %squares)
  return (%y, %pooled, %means, %padded, %tail, %head, %ends, %every, %cut, %whole, %joined, %piled, %repeated, %parts, %a, %flat, %made, %picked, %expanded, %squares, %squared)
)",
       200,
       {{at::rand({2, 3, 6, 8}), at::rand({4, 3, 3, 3})},
        {at::rand({1, 3, 2, 7}), at::rand({4, 3, 3, 3})},
        {at::rand({4, 3, 9, 5}), at::rand({2, 3, 1, 5})}}},
      {R"(graph(%x : Tensor, %y : Tensor, %n : int):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %last : int = prim::Constant[value=-1]()
  %pair : Tuple[Tensor, Tensor] = prim::TupleConstruct(%x, %y)
  %first : Tensor = prim::TupleIndex(%pair, %0)
  %second : Tensor = prim::TupleIndex(%pair, %last)
  %either : Tensor = prim::TupleIndex(%pair, %n)
  %sum : Tensor = aten::add.Tensor(%first, %second, %1)
  %scaled : Tensor = aten::mul.Tensor(%either, %sum)
  return (%first, %second, %either, %sum, %scaled)
)",
       30,
       {{at::rand({2, 5}), at::rand({2, 5}), 0},
        {at::rand({4, 3}), at::rand({3}), 1},
        {at::rand({1, 3}), at::rand({7, 1}), -1}}},
      {R"(graph(%x : Tensor):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %m3 : int = prim::Constant[value=-3]()
  %far : int = prim::Constant[value=9223372036854775807]()
  %none : NoneType = prim::Constant[value=None]()
  %sizes : List[int] = aten::size(%x)
  %last : List[int] = aten::slice.t(%sizes, %m3, %none, %1)
  %h : int = aten::__getitem__.t(%last, %0)
  %c : int = aten::__getitem__.t(%last, %2)
  %every : List[int] = aten::slice.t(%sizes, %none, %far, %2)
  %one : List[int] = aten::slice.t(%sizes, %1, %2, %far)
  %nothing : List[int] = aten::slice.t(%sizes, %2, %1, %1)
  %y : Tensor = aten::transpose.int(%x, %0, %1)
  %z : Tensor = aten::transpose.int(%x, %0, %2)
  %tensors : List[Tensor] = prim::ListConstruct(%x, %y, %z)
  %others : List[Tensor] = aten::slice.t(%tensors, %1, %none, %1)
  return (%last, %h, %c, %every, %one, %nothing, %others)
)",
       90,
       {{at::rand({2, 5, 3, 4})}, {at::rand({1, 3, 7, 1})}, {at::rand({6, 2, 0, 4})}}},
      {R"(graph(%x : Tensor):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %3 : int = prim::Constant[value=3]()
  %none : NoneType = prim::Constant[value=None]()
  %w : Tensor = aten::mul.Tensor(%x, %x)
  %parts : List[Tensor] = aten::chunk(%w, %2, %1)
  %part : Tensor = aten::__getitem__.t(%parts, %0)
  %other : Tensor = aten::__getitem__.t(%parts, %1)
  %rows : Tensor = aten::slice.Tensor(%w, %2, %1, %none, %1)
  %odd : Tensor = aten::slice.Tensor(%w, %3, %0, %none, %2)
  %one : Tensor = aten::narrow(%w, %1, %1, %1)
  %images : Tensor = aten::clone(%other, %2)
  %both : List[Tensor] = prim::ListConstruct(%images, %part)
  %joined : Tensor = aten::cat(%both, %1)
  %alike : List[Tensor] = prim::ListConstruct(%images, %images)
  %doubled : Tensor = aten::cat(%alike, %1)
  %turned : Tensor = aten::transpose.int(%w, %1, %2)
  %copied : Tensor = aten::contiguous(%turned, %0)
  return (%parts, %rows, %odd, %one, %joined, %doubled, %copied)
)",
       100,
       {{at::rand({2, 4, 3, 5})},
        {at::rand({1, 4, 1, 1})},
        {at::rand({2, 2, 2, 2})},
        {at::rand({2, 6, 0, 4})},
        {at::rand({2, 4, 3, 5}).contiguous(at::MemoryFormat::ChannelsLast)}}},
  };
  return kTexts;
}

TEST(ValueFactTableTest, SizesAreWhatTheyAreComputedOf) {
  for (const Shapes& shapes : Texts()) {
    SCOPED_TRACE(shapes.text);
    const std::unique_ptr<Graph> graph = ParseGraph(shapes.text);
    Verify(*graph);
    size_t known = 0;
    for (const std::vector<IValue>& example : shapes.examples) {
      const WrittenMemory memory(*graph, nullptr);
      SizeAlgebra sizes;
      ValueFactTable table(*graph, ArgumentSpec::Of(example).value().Facts(), memory, sizes);
      table.InferAll();
      const std::vector<IValue> results = GraphWalker().Walk(*graph, example);
      const KnownArguments arguments(&table, *graph, example);
      for (size_t i = 0; i < results.size(); ++i) {
        SCOPED_TRACE(graph->outputs()[i]->name());
        known += ExpectHolds(table.Of(*graph->outputs()[i]), results[i], arguments);
      }
    }
    EXPECT_GE(known, shapes.known);
  }
}

}  // namespace
}  // namespace hearth
