// What is inferred of an operator's result is held against what LibTorch gives.
#include "jit/analysis/value_fact_table.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "jit/analysis/exact_shape.h"
#include "jit/analysis/test_support.h"
#include "jit/interpreter/random_graphs.h"
#include "jit/ir/parser.h"
#include "jit/ir/verifier.h"

namespace hearth {
namespace {

using c10::IValue;

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
            ListsIn(statement) + "  %r : " + type + " = " + line + "\n  return (%r)\n";
  }
  const std::string& text() const { return text_; }

 private:
  // What makes the lists that a statement names.
  static std::string ListsIn(const std::string& statement) {
    const std::string none = "  %none : NoneType = prim::Constant[value=None]()\n";
    const std::string index = " : List[Optional[Tensor]] = prim::ListConstruct";
    const std::pair<std::string, std::string> lists[] = {
        {"%xs", "  %xs : List[Tensor] = prim::ListConstruct(%x, %x)\n"},
        {"%rows", "  %rows" + index + "(%i)\n"},
        {"%columns", none + "  %columns" + index + "(%none, %i)\n"},
        {"%pixels",
         "  %zero : int = prim::Constant[value=0]()\n  %one : Tensor = aten::select.int(%i, %zero, %zero)\n"
         "  %pixels" +
             index + "(%one, %i)\n"},
        {"%corners", none + "  %corners" + index + "(%none, %none, %i, %i)\n"},
        {"%apart", none + "  %apart" + index + "(%none, %i, %none, %i)\n"},
    };
    std::string made;
    for (const auto& [name, makes] : lists) {
      if (statement.find(name) != std::string::npos) made += makes;
    }
    return made;
  }

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
      {at::rand({2, 5, 6}), at::rand({4}), at::rand({8, 5, 3}), i, at::rand({4}) > 0.5, s},
      {at::rand({2, 5, 6}).transpose(1, 2), at::rand({4}), at::rand({8, 6, 3}), i, at::rand({4}) > 0.5, s},
      {at::rand({1, 5, 6}).transpose(1, 2), at::rand({4}), at::rand({8, 6, 1}), i, at::rand({4}) > 0.5, s},
      {at::rand({2, 1, 6}).transpose(1, 2), at::rand({4}), at::rand({8, 6, 1}), i, at::rand({4}) > 0.5, s},
      {at::rand({2, 6, 1}).transpose(1, 2), at::rand({4}), at::rand({8, 1, 1}), i, at::rand({4}) > 0.5, s},
      {at::rand({2, 6, 5}).transpose(0, 2), at::rand({4}),
       at::rand({8, 6, 3}).transpose(0, 1).contiguous().transpose(0, 1), i, at::rand({4}) > 0.5, s},
      {at::empty_strided({1, 6, 5}, {7, 5, 1}).fill_(1), at::rand({4}), at::rand({8, 6, 3}), i, at::rand({4}) > 0.5, s},
      {at::rand({1, 5, 6}), at::rand({1, 6, 5}).transpose(1, 2), at::rand({8, 5, 3}), i, at::rand({4}) > 0.5, s},
      {at::rand({1, 6, 5}).transpose(1, 2), at::rand({1, 5, 6}), at::rand({8, 5, 3}), i, at::rand({4}) > 0.5, s},
      {at::rand({1, 1, 6}), at::rand({1, 6, 1}).transpose(1, 2), at::rand({8, 1, 3}), i, at::rand({4}) > 0.5, s},
      {at::rand({1, 6, 1, 4}).contiguous(at::MemoryFormat::ChannelsLast), at::rand({4}), w, i, at::rand({4}) > 0.5, s},
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
      {at::rand({2, 3, 4, 5, 6}), at::rand({6}), at::rand({6, 3, 1, 3, 3}), i, at::rand({4}) > 0.5, s},
      {at::rand({2, 3, 4, 5, 6}).contiguous(at::MemoryFormat::ChannelsLast3d), at::rand({6}), at::rand({6, 3, 1, 3, 3}),
       i, at::rand({4}) > 0.5, s},
      {at::rand({2, 4, 5, 6, 3}).permute({0, 4, 1, 2, 3}), at::rand({3, 1, 1, 1}),
       at::rand({6, 3, 1, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast3d), i, at::rand({4}) > 0.5, s},
      {at::rand({1, 3, 4, 5, 6}).contiguous(at::MemoryFormat::ChannelsLast3d), at::rand({6}), at::rand({6, 3, 1, 1, 1}),
       i, at::rand({4}) > 0.5, s},
      {at::rand({2, 4, 5, 6, 1}).permute({0, 4, 1, 2, 3}), at::rand({6}), at::rand({6, 1, 1, 3, 3}), i,
       at::rand({4}) > 0.5, s},
      {at::rand({2, 1, 1, 1, 3}).permute({0, 4, 1, 2, 3}), at::rand({1}), at::rand({6, 3, 1, 1, 1}), i,
       at::rand({4}) > 0.5, s},
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
      {"Tensor", "aten::glu(%x, {int:1})"},
      {"Tensor", "aten::pixel_shuffle(%w, {int:1})"},
      {"Tensor", "aten::unfold(%x, {int:2}, {int:2}, {int:1})"},
      {"Tensor", "aten::unfold(%x, {int:-1}, {int:2}, {int:2})"},
      {"Tensor", "aten::diff(%x, {int:1}, {int:-1}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::diff(%x, {int:2}, {int:0}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::diff(%x, {int:1}, {int:0}, %x, {NoneType:None})"},
      {"Tensor", "aten::flip(%x, {List[int]:[2]})"},
      {"Tensor", "aten::roll(%x, {List[int]:[1]}, {List[int]:[2]})"},
      {"Tensor", "aten::flip(%x, {List[int]:[1, -1]})"},
      {"Tensor", "aten::flipud(%y)"},
      {"Tensor", "aten::erfinv(%x)"},
      {"Tensor", "aten::linalg_vecdot(%x, %x, {int:1})"},
      {"Tensor", "aten::pixel_shuffle(%x, {int:2})"},
      {"Tensor", "aten::pixel_unshuffle(%x, {int:2})"},
      {"Tensor", "aten::channel_shuffle(%x, {int:3})"},
      {"Tensor", "aten::native_channel_shuffle(%x, {int:1})"},
      {"Tensor", "aten::tile(%x, {List[int]:[2, 1]})"},
      {"Tensor", "aten::tile(%y, {List[int]:[1, 1, 2, 1, 3]})"},
      {"Tensor", "aten::repeat_interleave.self_int(%x, {int:3}, {int:-1}, {NoneType:None})"},
      {"Tensor", "aten::vstack(%xs)"},
      {"Tensor", "aten::dstack(%xs)"},
      {"Tensor", "aten::column_stack(%xs)"},
      {"Tensor", "aten::diff(%x, {int:1}, {int:1}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::diff(%y, {int:1}, {int:0}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::tril(%x, {int:-1})"},
      {"Tensor",
       "aten::full_like(%x, {float:0.5}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None}, "
       "{NoneType:None})"},
      {"Tensor", "aten::full_like(%x, {int:2}, {int:3}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {int:0})"},
      {"Tensor",
       "aten::new_full(%x, {List[int]:[2, 5]}, {int:1}, {NoneType:None}, {NoneType:None}, {NoneType:None}, "
       "{NoneType:None})"},
      {"Tensor", "aten::reflection_pad1d(%x, {List[int]:[1, 0]})"},
      {"Tensor", "aten::reflection_pad2d(%x, {List[int]:[1, 0, 1, 1]})"},
      {"Tensor", "aten::reflection_pad2d(%y, {List[int]:[0, 0, 0, 0]})"},
      {"Tensor", "aten::reflection_pad3d(%x, {List[int]:[1, 1, 1, 0, 0, 1]})"},
      {"Tensor", "aten::replication_pad1d(%x, {List[int]:[1, 0]})"},
      {"Tensor", "aten::replication_pad2d(%x, {List[int]:[1, 0, 1, 1]})"},
      {"Tensor", "aten::replication_pad2d(%y, {List[int]:[0, 0, 0, 0]})"},
      {"Tensor", "aten::replication_pad3d(%x, {List[int]:[1, 1, 1, 0, 0, 1]})"},
      {"Tensor", "aten::pad(%x, {List[int]:[1, 1, 1, 0]}, {str:\"replicate\"}, {NoneType:None})"},
      {"Tensor", "aten::pad(%x, {List[int]:[1, 1, 1, 0]}, {str:\"circular\"}, {NoneType:None})"},
      {"Tensor", "aten::pad(%x, {List[int]:[1, 0, 0, 1, 1, 1]}, {str:\"reflect\"}, {NoneType:None})"},
      {"Tensor", "aten::_upsample_nearest_exact1d(%x, {List[int]:[7]}, {NoneType:None})"},
      {"Tensor", "aten::_upsample_nearest_exact2d(%x, {List[int]:[8, 7]}, {NoneType:None}, {NoneType:None})"},
      {"Tensor",
       "aten::_upsample_nearest_exact3d(%x, {List[int]:[3, 8, 7]}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor",
       "aten::upsample_nearest3d(%x, {List[int]:[3, 8, 7]}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::upsample_linear1d(%x, {List[int]:[7]}, {bool:False}, {NoneType:None})"},
      {"Tensor",
       "aten::upsample_trilinear3d(%x, {List[int]:[3, 8, 7]}, {bool:True}, {NoneType:None}, {NoneType:None}, "
       "{NoneType:None})"},
      {"Tensor",
       "aten::max_pool1d(%x, {List[int]:[2]}, {List[int]:[1]}, {List[int]:[0]}, {List[int]:[1]}, {bool:False})"},
      {"Tensor",
       "aten::max_pool3d(%x, {List[int]:[2]}, {List[int]:[1]}, {List[int]:[0]}, {List[int]:[1]}, {bool:False})"},
      {"Tensor", "aten::avg_pool1d(%x, {List[int]:[2]}, {List[int]:[2]}, {List[int]:[1]}, {bool:False}, {bool:True})"},
      {"Tensor",
       "aten::avg_pool3d(%x, {List[int]:[2]}, {List[int]:[2]}, {List[int]:[1]}, {bool:False}, {bool:True}, "
       "{NoneType:None})"},
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
      {"Tensor", "aten::unsqueeze(%x, {int:1})"},
      {"Tensor", "aten::unsqueeze(%x, {int:2})"},
      {"Tensor", "aten::unsqueeze(%s, {int:0})"},
      {"Tensor", "aten::squeeze.dim(%x, {int:0})"},
      {"Tensor", "aten::squeeze.dim(%x, {int:2})"},
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
      {"Tensor", "aten::conv1d(%x, %w, {NoneType:None}, {List[int]:[1]}, {List[int]:[1]}, {List[int]:[1]}, {int:1})"},
      {"Tensor",
       "aten::conv_transpose2d(%x, %y, {NoneType:None}, {List[int]:[1, 1]}, {List[int]:[0, 0]}, {List[int]:[0, 0]}, "
       "{int:1}, {List[int]:[1, 1]})"},
      {"Tensor",
       "aten::conv_transpose2d(%x, %x, {NoneType:None}, {List[int]:[2, 2]}, {List[int]:[1, 0]}, {List[int]:[1, 0]}, "
       "{int:1}, {List[int]:[1, 2]})"},
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
      {"Tensor", "aten::upsample_bilinear2d.vec(%x, {NoneType:None}, {bool:False}, {List[float]:[2.0, 1.7]})"},
      {"Tensor", "aten::constant_pad_nd(%x, {List[int]:[1, 1]}, {int:0})"},
      {"Tensor", "aten::constant_pad_nd(%x, {List[int]:[0, 0, 0, 0]}, {int:0})"},
      {"Tensor", "aten::pad(%x, {List[int]:[1, 0, 0, 2]}, {str:\"constant\"}, {float:0.0})"},
      {"Tensor", "aten::pad(%x, {List[int]:[1, -1]}, {str:\"constant\"}, {NoneType:None})"},
      {"Tensor", "aten::pad(%x, {List[int]:[1, 1, 1, 1]}, {str:\"reflect\"}, {NoneType:None})"},
      {"Tensor", "aten::einsum({str:\"abcd, abce -> aedb\"}, %xs, {NoneType:None})"},
      {"Tensor", "aten::embedding(%y, %i, {int:-1}, {bool:False}, {bool:False})"},
      {"Tensor", "aten::embedding(%i, %i, {int:-1}, {bool:False}, {bool:False})"},
      {"Tensor", "aten::index_select(%x, {int:3}, %s)"},
      {"Tensor", "aten::gather(%i, {int:0}, %i, {bool:False})"},
      {"Tensor", "aten::take_along_dim(%y, %i, {int:0})"},
      {"Tensor", "aten::take_along_dim(%y, %i, {int:-1})"},
      {"Tensor", "aten::take_along_dim(%x, %i, {NoneType:None})"},
      {"Tensor", "aten::index.Tensor(%x, %rows)"},
      {"Tensor", "aten::index.Tensor(%i, %columns)"},
      {"Tensor", "aten::index.Tensor(%y, %columns)"},
      {"Tensor", "aten::index.Tensor(%x, %pixels)"},
      {"Tensor", "aten::index.Tensor(%y, %pixels)"},
      {"Tensor", "aten::index.Tensor(%x, %corners)"},
      {"Tensor", "aten::index.Tensor(%x, %apart)"},
      {"Tensor", "aten::nonzero(%x)"},
      {"Tensor", "aten::cat(%xs, {int:0})"},
      {"Tensor", "aten::cat(%xs, {int:2})"},
      {"Tensor", "hearth::channel_shuffle(%xs, {int:2}, {int:0}, {int:4})"},
      {"Tensor", "hearth::channel_shuffle(%xs, {int:3}, {int:3}, {int:3})"},
      {"Tensor", "aten::stack(%xs, {int:0})"},
      {"Tensor", "aten::repeat(%x, {List[int]:[2, 1, 1, 1, 3]})"},
      {"Tensor", "aten::zeros({List[int]:[2, 3]}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor",
       "aten::full({List[int]:[2, 3]}, {int:3}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::arange({int:4}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor",
       "aten::arange.start({int:1}, {int:4}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor",
       "aten::arange.start({float:0.5}, {int:4}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor",
       "aten::arange.start_step({int:1}, {int:9}, {int:3}, {NoneType:None}, {NoneType:None}, {NoneType:None}, "
       "{NoneType:None})"},
      {"Tensor",
       "aten::arange.start_step({int:9}, {int:0}, {int:-2}, {NoneType:None}, {NoneType:None}, {NoneType:None}, "
       "{NoneType:None})"},
      {"Tensor",
       "aten::arange.start_step({int:0}, {int:2}, {float:0.3}, {NoneType:None}, {NoneType:None}, {NoneType:None}, "
       "{NoneType:None})"},
      {"Tensor", "aten::arange({float:4.0}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::eye({int:4}, {NoneType:None}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
      {"Tensor", "aten::eye.m({int:4}, {int:2}, {int:4}, {NoneType:None}, {NoneType:None}, {NoneType:None})"},
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
      {"Tensor",
       "aten::conv3d(%x, %w, {NoneType:None}, {List[int]:[1, 2, 1]}, {List[int]:[0, 1, 0]}, {List[int]:[1, 1, 1]}, "
       "{int:1})"},
      {"Tensor",
       "aten::max_pool3d(%x, {List[int]:[1, 2, 2]}, {List[int]:[]}, {List[int]:[0, 1, 0]}, {List[int]:[1, 1, 1]}, "
       "{bool:True})"},
      {"Tensor",
       "aten::avg_pool3d(%x, {List[int]:[1, 2, 2]}, {List[int]:[1, 1, 2]}, {List[int]:[0, 0, 0]}, {bool:False}, "
       "{bool:True}, {NoneType:None})"},
      {"Tensor", "aten::adaptive_avg_pool3d(%x, {List[int]:[1, 1, 1]})"},
      {"Tensor", "aten::adaptive_avg_pool3d(%x, {List[int]:[1, 2, 2]})"},
      {"Tensor", "aten::contiguous(%x, {int:3})"},
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

// 2^40 ways lead to the innermost; what is known must not grow with them.
TEST(ValueFactTableTest, OfListsThatHoldEachOtherTwiceLittleIsKept) {
  std::string text = "graph(%0 : List[Any]):\n";
  IValue constant = c10::ivalue::Tuple::create({IValue(1), IValue(2)});
  for (int i = 0; i < 40; ++i) {
    text += "  %" + std::to_string(i + 1) + " : List[Any] = prim::ListConstruct(%" + std::to_string(i) + ", %" +
            std::to_string(i) + ")\n";
    constant = c10::ivalue::Tuple::create({constant, constant});
  }
  const auto graph = ParseGraph(text + "  return (%40)\n");
  const std::vector<IValue> arguments = {c10::impl::GenericList(c10::AnyType::get())};
  const WrittenMemory memory(*graph, nullptr);
  SizeAlgebra sizes;
  ValueFactTable table(*graph, ArgumentSpec::Of(arguments).value().Facts(), memory, sizes);
  table.InferAll();
  size_t most = 0;
  for (const Node* node : *graph->block()) most = std::max(most, table.Of(*node->output()).count());
  EXPECT_GT(most, 1U);
  EXPECT_LE(most, ValueFacts::kMaxFacts);
  EXPECT_EQ(FactsOfConstant(constant), ValueFacts());
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

// Operands of random sizes, with dimensions in which they are expanded, and in random orders.
TEST(ValueFactTableTest, WhatIsInferredOfTheOrderOfSeveralTensorsHolds) {
  const std::vector<std::string> operations = {"aten::add.Tensor(%a, %b, %one)", "aten::addcmul(%a, %b, %c, %one)",
                                               "aten::lerp.Tensor(%a, %b, %c)", "aten::where.self(%m, %b, %c)",
                                               "aten::addcmul(%c, %a, %b, %one)"};
  std::mt19937 random(1);
  const auto below = [&](size_t bound) { return static_cast<int64_t>(random() % bound); };
  size_t known = 0, exactly = 0;
  constexpr size_t kRounds = 3000;
  for (size_t round = 0; round < kRounds; ++round) {
    const size_t rank = 2 + round % 3;
    std::vector<int64_t> sizes(rank);
    for (int64_t& size : sizes) size = 1 + below(3);
    std::string text = "graph(%pa : Tensor, %pb : Tensor, %pc : Tensor):\n  %one : int = prim::Constant[value=1]()\n";
    std::vector<IValue> arguments;
    for (const char* name : {"a", "b", "c"}) {
      std::vector<int64_t> own(sizes.begin() + (below(4) == 0 ? 1 : 0), sizes.end());
      for (int64_t& size : own) size = below(3) == 0 ? 1 : size;
      std::vector<int64_t> nesting(own.size());
      std::iota(nesting.begin(), nesting.end(), 0);
      if (below(2) == 0) std::ranges::shuffle(nesting, random);
      std::vector<int64_t> laid(own.size()), back(own.size());
      for (size_t i = 0; i < own.size(); ++i) {
        laid[i] = own[static_cast<size_t>(nesting[i])];
        back[static_cast<size_t>(nesting[i])] = static_cast<int64_t>(i);
      }
      const at::Tensor tensor = at::rand(laid);
      std::vector<int64_t> strides = tensor.strides().vec();
      const bool odd = below(2) == 0;  // strides that nothing reads
      for (size_t i = 0; i < laid.size(); ++i) strides[i] = odd && laid[i] == 1 ? 1 + below(9) : strides[i];
      arguments.emplace_back(tensor.as_strided(laid, strides));
      text += c10::str("  %back_", name, " : List[int] = prim::Constant[value=[", c10::Join(", ", back), "]]()\n  %",
                       name, " : Tensor = aten::permute(%p", name, ", %back_", name, ")\n");
    }
    text += "  %m : Tensor = aten::gt.Tensor(%a, %b)\n  %r : Tensor = " + operations[round % operations.size()] +
            "\n  return (%r)\n";
    SCOPED_TRACE(text);
    const std::unique_ptr<Graph> graph = ParseGraph(text);
    std::vector<ArgumentFacts> facts = ArgumentSpec::Of(arguments).value().Facts();
    ExactShape::Of(arguments)->AddTo(facts);
    const WrittenMemory memory(*graph, nullptr);
    SizeAlgebra algebra;
    ValueFactTable table(*graph, facts, memory, algebra);
    table.InferAll();
    const ValueFacts& result = table.Of(*graph->outputs()[0]);
    ExpectHolds(result, GraphWalker().Walk(*graph, arguments)[0], KnownArguments(&table, *graph, arguments));
    known += result.order.is_known() ? 1 : 0;
    exactly += result.order.is_exact() ? 1 : 0;
  }
  EXPECT_GT(known, kRounds / 2);
  EXPECT_GT(exactly, kRounds / 10);
}

TEST(ValueFactTableTest, WhatIsInferredOfPooledSizesHolds) {
  std::mt19937 random(1);
  const auto among = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  };
  size_t known = 0, pooled = 0;
  for (int round = 0; round < 500; ++round) {
    const int64_t kernel = among(1, 4), dilation = among(1, 2);
    const auto pair = [&](const char* name, int64_t number) {
      return c10::str("  %", name, " : List[int] = prim::Constant[value=[", number, ", ", number, "]]()\n");
    };
    const std::string text = c10::str(
        "graph(%x : Tensor):\n", pair("kernel", kernel), pair("stride", among(1, 4)), pair("padding", among(0, 2)),
        pair("dilation", dilation), "  %ceil : bool = prim::Constant[value=", round % 4 == 0 ? "False" : "True",
        "]()\n  %r : Tensor = aten::max_pool2d(%x, %kernel, %stride, %padding, %dilation, %ceil)\n  return (%r)\n");
    SCOPED_TRACE(text);
    const std::unique_ptr<Graph> graph = ParseGraph(text);
    const std::vector<IValue> arguments = {at::rand({1, 2, among(3, 12), among(3, 12)})};
    std::vector<IValue> results;
    try {
      results = GraphWalker().Walk(*graph, arguments);
    } catch (const std::exception&) {
      continue;  // too much padding, or no window
    }
    const WrittenMemory memory(*graph, nullptr);
    SizeAlgebra algebra;
    ValueFactTable table(*graph, ArgumentSpec::Of(arguments).value().Facts(), memory, algebra);
    table.InferAll();
    const ValueFacts& facts = table.Of(*graph->outputs()[0]);
    const KnownArguments sizes(&table, *graph, arguments);
    ExpectHolds(facts, results[0], sizes);
    ++pooled;
    known += sizes.Of((*facts.sizes)[2]) && sizes.Of((*facts.sizes)[3]) ? 1 : 0;
  }
  EXPECT_GT(known, pooled / 2);
}

}  // namespace
}  // namespace hearth
