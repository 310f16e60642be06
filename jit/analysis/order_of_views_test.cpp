// What is inferred of the order in memory of views, of views of views, and of what is computed of them is held against
// what LibTorch gives.
#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "jit/analysis/exact_shape.h"
#include "jit/analysis/test_support.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/interpreter/random_graphs.h"
#include "jit/ir/parser.h"
#include "jit/ir/verifier.h"

namespace hearth {
namespace {

using c10::IValue;

// The text of a graph of random views of one tensor, each of the one before, and of what is computed of them.
class RandomViews {
 public:
  explicit RandomViews(uint32_t seed) : random_(seed) {
    // Whatever its order, no stride is odd: that images of a batch of one have one that makes them no images is not
    // seen.
    const bool is_shuffled = Below(3) == 0;
    std::vector<int64_t> sizes(2 + Below(3));
    for (int64_t& size : sizes) size = Below(4) == 0 && !is_shuffled ? 1 : 2 * (1 + Below(3));
    std::vector<int64_t> nesting(sizes.size());
    std::iota(nesting.begin(), nesting.end(), 0);
    if (is_shuffled) std::ranges::shuffle(nesting, random_);
    argument_ = at::rand(sizes).permute(nesting);
    value_ = argument_;
    for (int i = 0; i < 4; ++i) AddView();
    const std::string names[] = {name_, "same"};
    Add("Tensor", "same", c10::str("aten::contiguous(%", name_, ", %c0)"));
    Add("Tensor", "unary", c10::str("aten::relu(%", name_, ")"));
    Add("Tensor", "number", c10::str("aten::mul.Scalar(%", name_, ", %c2)"));
    const size_t first = Below(2);
    Add("Tensor", "both", c10::str("aten::add.Tensor(%", names[first], ", %", names[1 - first], ", %c1)"));
    Add("List[Tensor]", "list", c10::str("prim::ListConstruct(%", name_, ", %", names[first], ")"));
    // Along the channels of images, a view's odd stride in a dimension of size 1 is not looked for.
    const auto rank = static_cast<size_t>(value_.dim());
    const auto place = [&](size_t bound) { return rank == 4 ? 2 * Below((bound + 1) / 2) : Below(bound); };
    Add("Tensor", "stacked", c10::str("aten::stack(%list, %c", place(rank + 1), ")"));
    if (rank > 0) Add("Tensor", "joined", c10::str("aten::cat(%list, %c", place(rank), ")"));
    if (rank == 0) return;
    // Two that are each expanded where the other, perhaps, is not.
    for (const char* const one : {"some", "others"}) {
      Add("Tensor", one, c10::str("aten::slice.Tensor(%", name_, ", %c", Below(rank), ", %c0, %c1, %c1)"));
    }
    Add("Tensor", "outer", "aten::mul.Tensor(%some, %others)");
    Add("Tensor", "three", "aten::addcmul(%some, %others, %outer, %c1)");
  }

  std::string Text() const {
    std::string text = "graph(%v : Tensor):\n";
    for (int i = 0; i < 10; ++i) text += c10::str("  %c", i, " : int = prim::Constant[value=", i, "]()\n");
    return text + lines_ + "  return (" + results_ + ")\n";
  }
  std::vector<IValue> Arguments() const { return {argument_}; }

 private:
  int64_t Below(size_t bound) { return static_cast<int64_t>(random_() % bound); }

  void Add(const std::string& type, const std::string& name, const std::string& call) {
    lines_ += "  %" + name + " : " + type + " = " + call + "\n";
    if (type == "Tensor") results_ += (results_.empty() ? "%" : ", %") + name;
  }
  void View(const std::string& call, const at::Tensor& value) {
    const std::string name = "v" + std::to_string(++count_);
    Add("Tensor", name, call);
    name_ = name;
    value_ = value;
  }
  std::string Constant(at::IntArrayRef numbers) {
    const std::string name = "%l" + std::to_string(++count_);
    lines_ += "  " + name + " : List[int] = prim::Constant[value=[" + c10::Join(", ", numbers) + "]]()\n";
    return name;
  }

  void AddView() {
    const int64_t rank = value_.dim(), dim = rank == 0 ? 0 : Below(static_cast<size_t>(rank));
    const int64_t size = rank == 0 ? 0 : value_.size(dim);
    const std::string of = "(%" + name_ + ", %c" + std::to_string(dim);
    if (rank == 0) return;
    switch (Below(8)) {
      case 0:
        if (rank > 1 && size > 0) View("aten::select.int" + of + ", %c0)", value_.select(dim, 0));
        break;
      case 1: {
        if (size == 0) break;
        const int64_t end = 1 + Below(static_cast<size_t>(std::min<int64_t>(size, 9))),
                      start = Below(static_cast<size_t>(end));
        const int64_t step = 1 + Below(3);
        View(c10::str("aten::slice.Tensor", of, ", %c", start, ", %c", end, ", %c", step, ")"),
             value_.slice(dim, start, end, step));
        break;
      }
      case 2:
        View("aten::slice.Tensor" + of + ", %c1, %c7, %c2)", value_.slice(dim, 1, 7, 2));
        break;
      case 3: {
        std::vector<int64_t> dims(static_cast<size_t>(rank));
        std::iota(dims.begin(), dims.end(), 0);
        std::ranges::shuffle(dims, random_);
        const std::string asked = Constant(dims);
        View("aten::permute(%" + name_ + ", " + asked + ")", value_.permute(dims));
        break;
      }
      case 4:
        if (rank < 5) View("aten::unsqueeze" + of + ")", value_.unsqueeze(dim));
        break;
      case 5:
        View("aten::squeeze.dim" + of + ")", value_.squeeze(dim));
        break;
      case 6: {
        const bool halves = size % 2 == 0 && size > 0;
        if (!halves) break;
        const std::string parts = "p" + std::to_string(++count_);
        Add("List[Tensor]", parts, "aten::chunk(%" + name_ + ", %c2, %c" + std::to_string(dim) + ")");
        View("aten::__getitem__.t(%" + parts + ", %c1)", value_.chunk(2, dim)[1]);
        break;
      }
      default: {
        // One dimension in two, or two in one, where that is a view; or a copy.
        std::vector<int64_t> sizes = value_.sizes().vec();
        if (Below(2) == 0 && size % 2 == 0 && size > 0 && rank < 5) {
          sizes[static_cast<size_t>(dim)] /= 2;
          sizes.insert(sizes.begin() + dim + Below(2), 2);
        } else if (dim + 1 < rank) {
          sizes[static_cast<size_t>(dim)] *= sizes[static_cast<size_t>(dim + 1)];
          sizes.erase(sizes.begin() + dim + 1);
        }
        const std::string asked = Constant(sizes);
        View("aten::reshape(%" + name_ + ", " + asked + ")", value_.reshape(sizes));
      }
    }
  }

  std::mt19937 random_;
  std::string lines_, results_, name_ = "v";
  at::Tensor argument_, value_;
  int count_ = 0;
};

TEST(OrderOfViewsTest, WhatIsInferredIsWhatLibTorchGives) {
  size_t parts = 0, computed = 0, known = 0;
  constexpr uint32_t kRounds = 4000;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const RandomViews views(round);
    SCOPED_TRACE(views.Text());
    const std::unique_ptr<Graph> graph = ParseGraph(views.Text());
    Verify(*graph);
    const std::vector<IValue> arguments = views.Arguments();
    std::vector<ArgumentFacts> facts = ArgumentSpec::Of(arguments).value().Facts();
    if (round % 2 == 0) ExactShape::Of(arguments)->AddTo(facts);
    const WrittenMemory memory(*graph, nullptr);
    SizeAlgebra algebra;
    ValueFactTable table(*graph, facts, memory, algebra);
    table.InferAll();
    const KnownArguments sizes(&table, *graph, arguments);
    const std::vector<IValue> results = GraphWalker().Walk(*graph, arguments);
    for (size_t i = 0; i < results.size(); ++i) {
      SCOPED_TRACE(graph->outputs()[i]->name());
      const ValueFacts& of = table.Of(*graph->outputs()[i]);
      ExpectHolds(of, results[i], sizes);
      parts += of.part_order.is_known() ? 1 : 0;
      computed += graph->outputs()[i]->name() == "unary" ? 1 : 0;
      known += graph->outputs()[i]->name() == "unary" && of.order.is_known() ? 1 : 0;
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(parts, kRounds / 3);
  EXPECT_GT(known, computed / 3);
}

}  // namespace
}  // namespace hearth
