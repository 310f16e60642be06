// What is inferred of all of a graph, sizes above all, is held against what a run of it gives.
#include "jit/analysis/value_fact_table.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "jit/analysis/test_support.h"
#include "jit/interpreter/random_graphs.h"
#include "jit/ir/parser.h"
#include "jit/ir/verifier.h"

namespace hearth {
namespace {

using c10::IValue;

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
  %later : Tensor = aten::arange.start(%1, %h, %none, %none, %none, %none)
  %every_third : Tensor = aten::arange.start_step(%1, %h, %3, %none, %none, %none, %none)
  %indices : List[Optional[Tensor]] = prim::ListConstruct(%none, %none, %made)
  %picked : Tensor = aten::index.Tensor(%x, %indices)
  %wide : List[int] = prim::ListConstruct(%2, %h)
  %expanded : Tensor = aten::expand(%made, %wide, %false)
  %squares : Tensor = aten::nonzero(%x)
  %squared : Tensor = aten::mul.Tensor(%squares, %squares)
  %factors : List[float] = prim::Constant[value=[2.0, 1.5]]()
  %larger : Tensor = aten::upsample_bilinear2d.vec(%x, %none, %false, %factors)
  return (%larger, %later, %every_third, %y, %pooled, %means, %padded, %tail, %head, %ends, %every, %cut, %whole, %joined, %piled, %repeated, %parts, %a, %flat, %made, %picked, %expanded, %squares, %squared)
)",
       657,
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
      {R"(graph(%x : Tensor):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %last : int = prim::Constant[value=-1]()
  %none : NoneType = prim::Constant[value=None]()
  %tokens : List[int] = prim::Constant[value=[1, 12, 5]]()
  %many : List[int] = prim::Constant[value=[2, 12, 5]]()
  %images : List[int] = prim::Constant[value=[-1, 5, 3, 4]]()
  %rows : List[int] = prim::Constant[value=[-1, 5, 12, 1]]()
  %flat : List[int] = prim::Constant[value=[-1, 60]]()
  %t : Tensor = aten::new_zeros(%x, %tokens, %none, %none, %none, %none)
  %m : Tensor = aten::new_zeros(%x, %many, %none, %none, %none, %none)
  %t.turned : Tensor = aten::transpose.int(%t, %1, %2)
  %m.turned : Tensor = aten::transpose.int(%m, %1, %2)
  %t.image : Tensor = aten::view(%t.turned, %images)
  %m.image : Tensor = aten::view(%m.turned, %images)
  %t.rows : Tensor = aten::view(%t.turned, %rows)
  %m.rows : Tensor = aten::reshape(%m.turned, %rows)
  %t.flat : Tensor = aten::flatten.using_ints(%t.image, %2, %last)
  %m.flat : Tensor = aten::flatten.using_ints(%m.image, %2, %last)
  %t.copy : Tensor = aten::reshape(%t.turned, %flat)
  %m.copy : Tensor = aten::flatten.using_ints(%m.image, %1, %last)
  %gray : List[int] = prim::Constant[value=[2, 1, 3, 4]]()
  %g : Tensor = aten::new_zeros(%x, %gray, %none, %none, %none, %none)
  %g.last : Tensor = aten::contiguous(%g, %2)
  %g.flat : Tensor = aten::flatten.using_ints(%g.last, %1, %1)
  %three : List[int] = prim::Constant[value=[3, 3]]()
  %twos : List[int] = prim::Constant[value=[2, 2]]()
  %ones : List[int] = prim::Constant[value=[1, 1]]()
  %columns : Tensor = aten::im2col(%m.image, %three, %ones, %ones, %twos)
  %back : List[int] = prim::Constant[value=[3, 4]]()
  %summed : Tensor = aten::col2im(%columns, %back, %three, %ones, %ones, %twos)
  %of_one : Tensor = aten::select.int(%x, %0, %0)
  %its : Tensor = aten::im2col(%of_one, %three, %ones, %ones, %twos)
  return (%t.image, %m.image, %t.rows, %m.rows, %t.flat, %m.flat, %t.copy, %m.copy, %g.last, %g.flat, %columns, %summed, %its)
)",
       100,
       {{at::rand({2, 4, 6, 7})}}},
  };
  return kTexts;
}

TEST(GraphFactsTest, SizesAreWhatTheyAreComputedOf) {
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
