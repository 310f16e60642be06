// What is live at each place of random programs, against the data-flow equations solved over their steps one by one.
#include "jit/analysis/liveness.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "jit/analysis/aliases.h"
#include "jit/interpreter/random_graphs.h"
#include "jit/ir/closure.h"
#include "jit/ir/parser.h"
#include "jit/ir/printer.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

using Values = std::set<const Value*>;

// live before = (live after any successor) - makes + reads (Kildall, 1973), until nothing changes.
class DataFlow {
 public:
  explicit DataFlow(const Graph& graph) {
    Add(*graph.block());
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = steps_.size(); i-- > 0;) {
        Values live;
        for (const size_t next : steps_[i].next) live.insert(steps_[next].live.begin(), steps_[next].live.end());
        for (const Value* made : steps_[i].makes) live.erase(made);
        for (const Value* read : steps_[i].reads) {
          if (read->node()->kind() != sym::kConstant && read->node()->kind() != sym::kUninitialized) live.insert(read);
        }
        if (live == steps_[i].live) continue;
        steps_[i].live = std::move(live);
        changed = true;
      }
    }
  }

  // By node, the return nodes of blocks too.
  std::map<const Node*, Values> Result() const {
    std::map<const Node*, Values> result;
    for (const auto& [node, step] : at_) result.emplace(node, steps_[step].live);
    return result;
  }

 private:
  struct Step {
    Values reads;
    Values makes;
    std::vector<size_t> next;
    Values live;
  };

  // Which goes on with the one that is added next.
  size_t Add(Values reads, Values makes) {
    steps_.push_back({std::move(reads), std::move(makes), {}, {}});
    return steps_.size() - 1;
  }
  static Values SetOf(std::span<Value* const> values) { return {values.begin(), values.end()}; }

  // The step that it ends with, which has no successor yet.
  size_t Add(const Block& block) {
    size_t last = Add({}, {});
    for (const Node* node : block) {
      const size_t first = steps_.size();
      at_.emplace(node, first);
      const size_t end = Add(*node);
      steps_[last].next.push_back(first);
      last = end;
    }
    const size_t end = Add(SetOf(block.returns()), {});
    at_.emplace(block.return_node(), end);
    steps_[last].next.push_back(end);
    return end;
  }

  size_t Add(const Node& node) {
    const size_t first = Add(SetOf(node.inputs()), {});
    if (node.blocks().empty() || IsClosure(node)) {
      steps_[first].makes = SetOf(node.outputs());
      return first;
    }
    std::vector<size_t> ends;
    if (node.kind() == sym::kLoop) {
      const Block& body = *node.block(0);
      steps_[first].makes = SetOf(body.params());
      const size_t begin = steps_.size();
      const size_t end = Add(body);
      // The counter is counted up, the limit is asked, and the other parameters are what the body returned.
      const size_t back = Add({body.param(0), node.input(0)}, SetOf(body.params().subspan(1)));
      steps_[end].next.push_back(back);
      steps_[first].next.push_back(begin);
      steps_[back].next.push_back(begin);
      ends = {first, back};
    } else {
      for (const Block* block : node.blocks()) {
        steps_[first].next.push_back(steps_.size());
        ends.push_back(Add(*block));
      }
    }
    const size_t join = Add({}, SetOf(node.outputs()));
    for (const size_t end : ends) steps_[end].next.push_back(join);
    return join;
  }

  std::vector<Step> steps_;
  std::map<const Node*, size_t> at_;
};

TEST(LivenessTest, WhatIsLiveAtEachPlaceIsWhatTheDataFlowEquationsSay) {
  size_t places_seen = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const std::unique_ptr<Graph> graph = GraphGenerator(seed, false).Generate();
    const std::map<const Node*, Values> expected = DataFlow(*graph).Result();
    std::vector<const Node*> places;
    for (const auto& [node, values] : expected) places.push_back(node);
    auto live = Liveness(*graph->block()).LiveBefore(places);
    for (const auto& [node, values] : expected) {
      const std::vector<const Value*>& found = live.at(node);
      ASSERT_EQ(Values(found.begin(), found.end()), values)
          << "seed " << seed << ", before " << node->kind().toQualString() << "\n"
          << PrintGraph(*graph);
      EXPECT_TRUE(std::ranges::is_sorted(found, {}, &Value::id));
      ++places_seen;
    }
  }
  EXPECT_GT(places_seen, 5000u);
}

const Value* Find(const Block& block, const std::string& name) {
  for (const Node* node : block) {
    for (const Value* output : node->outputs()) {
      if (output->name() == name) return output;
    }
    for (const Block* inner : node->blocks()) {
      if (const Value* found = Find(*inner, name)) return found;
    }
  }
  return nullptr;
}

class IntervalTest : public ::testing::Test {
 protected:
  void Read(const std::string& text) {
    graph_ = ParseGraph(text);
    aliases_ = std::make_unique<const AliasClasses>(*graph_);
    intervals_ = Liveness(*graph_->block()).IntervalsOf(*aliases_);
  }
  const Liveness::ClassInterval& Of(const std::string& name) const {
    return intervals_.at(aliases_->ClassOf(*Find(*graph_->block(), name)));
  }

  std::unique_ptr<Graph> graph_;
  std::unique_ptr<const AliasClasses> aliases_;
  std::unordered_map<size_t, Liveness::ClassInterval> intervals_;
};

TEST_F(IntervalTest, AClassIsInUseFromItsFirstValueToItsLastUse) {
  Read(R"(graph(%x : Tensor, %flag : bool):
  %1 : int = prim::Constant[value=1]()
  %a : Tensor = aten::exp(%x)
  %view : Tensor = aten::t(%a)
  %b : Tensor = aten::neg(%view)
  %c : Tensor = aten::tanh(%b)
  %d : Tensor = prim::If(%flag)
    block0():
      %e : Tensor = aten::add.Tensor(%b, %c, %1)
      %f : Tensor = aten::exp(%e)
      -> (%f)
    block1():
      -> (%x)
  %g : Tensor = aten::neg(%c)
  return (%g))");
  EXPECT_EQ(&Of("a"), &Of("view"));
  EXPECT_TRUE(Of("a").in_one_block);
  EXPECT_TRUE(Of("a").Meets(Of("b"))) << "an operator does not write where it reads";
  EXPECT_FALSE(Of("a").Meets(Of("c")));
  EXPECT_TRUE(Of("b").Meets(Of("e"))) << "what a branch reads is there until the branches have ended";
  EXPECT_TRUE(Of("c").Meets(Of("e")));
  EXPECT_FALSE(Of("b").Meets(Of("g")));
  EXPECT_TRUE(Of("e").in_one_block);
  EXPECT_FALSE(Of("f").in_one_block) << "it leaves its branch";
  EXPECT_FALSE(Of("g").in_one_block);
}

TEST_F(IntervalTest, AFrameStateIsAUseUntilTheNextOne) {
  Read(R"(graph(%x : Tensor, %log : List[str], %word : str):
  %a : Tensor = aten::exp(%x)
  prim::FrameState[anchor=0](%x, %a)
  %b : Tensor = aten::neg(%x)
  %c : Tensor = aten::tanh(%b)
  prim::FrameState[anchor=1](%x)
  %d : Tensor = aten::tanh(%c)
  %e : Tensor = aten::neg(%d)
  return (%e))");
  EXPECT_TRUE(Of("a").Meets(Of("c")));
  EXPECT_FALSE(Of("a").Meets(Of("d")));
}

TEST_F(IntervalTest, WhatAClosureOrALoopCarriesIsNotOfOneBlock) {
  Read(R"(graph(%x : Tensor, %n : int, %flag : bool):
  %a : Tensor = aten::exp(%x)
  %b : Tensor = aten::neg(%a)
  %future : Future[Tensor] = prim::fork(%b)
    block0(%captured : Tensor):
      %c : Tensor = aten::exp(%captured)
      -> (%c)
  %i : Tensor = aten::exp(%x)
  %d : Tensor = prim::Loop(%n, %flag, %i)
    block0(%k : int, %carried : Tensor):
      %s : Tensor = aten::neg(%carried)
      %e : Tensor = aten::exp(%s)
      -> (%flag, %e)
  %f : Tensor = aten::wait(%future)
  return (%f, %d))");
  EXPECT_TRUE(Of("a").in_one_block);
  EXPECT_FALSE(Of("b").in_one_block);
  EXPECT_FALSE(Of("c").in_one_block);
  EXPECT_FALSE(Of("i").in_one_block);
  EXPECT_FALSE(Of("e").in_one_block);
  EXPECT_TRUE(Of("s").in_one_block);
}

}  // namespace
}  // namespace hearth
