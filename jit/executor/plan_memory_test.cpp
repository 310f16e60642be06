// Plans whose results have places in an arena, against the baseline.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "jit/analysis/exact_shape.h"
#include "jit/executor/plan_compiler.h"
#include "jit/interpreter/code.h"
#include "jit/interpreter/test_support.h"
#include "jit/ir/parser.h"
#include "jit/ir/printer.h"
#include "jit/ir/symbols.h"
#include "jit/ir/verifier.h"
#include "jit/support/cpu_allocator.h"
#include "jit/support/memory_account.h"
#include "jit/support/resource_error.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

using c10::IValue;

enum class Sizes { kExact, kAny };

// A method with its baseline and its plan for certain arguments: for their sizes alone, or for any.
class Method {
 public:
  Method(const std::string& text, const std::vector<IValue>& arguments, Sizes sizes, bool guard_everywhere)
      : graph_(ParseGraph(text)),
        baseline_(CompileCode(*graph_, "f")),
        compiler_(*graph_, "f", guard_everywhere, &derived_, {}, nullptr) {
    const ArgumentSpec spec = ArgumentSpec::Of(arguments).value();
    const ExactShape shape = ExactShape::Of(arguments).value();
    const bool exact = sizes == Sizes::kExact;
    plan_ = compiler_.Compile({.spec = spec, .shape = exact ? &shape : nullptr, .likely = exact ? nullptr : &shape},
                              nullptr);
    Verify(plan_->executable().graph());
  }

  IValue Baseline(std::vector<IValue> arguments) const { return hearth::Run(*baseline_, std::move(arguments)); }
  IValue Plan(std::vector<IValue> arguments, int32_t failing_guard = -1,
              std::shared_ptr<MemoryAccount> memory = nullptr) const {
    RunOptions options;
    options.failing_guard = failing_guard;
    options.memory = std::move(memory);
    return hearth::Run(*plan_->executable().entry(), std::move(arguments), options);
  }
  const ExecutionPlan& plan() const { return *plan_; }
  // Results that are tensors of the arena, and those that their operators make in it.
  size_t slots() const {
    return Count(*plan_->executable().graph().block(), [](const Node& node) { return node.kind() == sym::kSlot; });
  }
  size_t placed() const {
    return Count(*plan_->executable().graph().block(),
                 [](const Node& node) { return node.kind() != sym::kSlot && node.HasAttribute(sym::kPlaceAttr); });
  }

 private:
  static size_t Count(const Block& block, bool (*counts)(const Node&)) {
    size_t count = 0;
    for (const Node* node : block) {
      count += counts(*node) ? 1 : 0;
      for (const Block* inner : node->blocks()) count += Count(*inner, counts);
    }
    return count;
  }

  std::unique_ptr<Graph> graph_;
  std::shared_ptr<const Code> baseline_;
  DerivedConstantTable derived_;
  PlanCompiler compiler_;
  std::shared_ptr<const ExecutionPlan> plan_;
};

bool AreEqual(const IValue& a, const IValue& b) {
  const auto& ours = a.toTupleRef().elements();
  const auto& theirs = b.toTupleRef().elements();
  if (ours.size() != theirs.size()) return false;
  for (size_t i = 0; i < ours.size(); ++i) {
    if (!at::allclose(ours[i].toTensor(), theirs[i].toTensor(), 0, 0, /*equal_nan=*/true)) return false;
    if (ours[i].toTensor().strides() != theirs[i].toTensor().strides()) return false;
  }
  return true;
}

at::Tensor Input() { return at::rand({6, 20}); }

// Straight code with views, writes, lists, a branch and a loop, in which any two results may share memory or not.
std::string RandomProgram(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random); };
  std::string text = R"(graph(%x : Tensor, %y : Tensor, %flag : bool, %log : List[str]):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %rows : int = aten::size.int(%x, %0)
  %columns : int = aten::size.int(%x, %1)
  %sizes : List[int] = prim::ListConstruct(%columns, %rows)
  %back : List[int] = prim::ListConstruct(%rows, %columns)
  %true : bool = prim::Constant[value=True]()
  %word : str = prim::Constant[value="word"]()
)";
  std::vector<std::string> values = {"%x", "%y"};
  size_t number = 0;
  const auto some = [&] { return values[values.size() - 1 - std::min(below(values.size()), below(values.size()))]; };
  const auto fresh = [&] { return "%v" + std::to_string(number++); };
  const auto put = [&](const std::string& indent, const std::string& name) {
    static const std::vector<std::string> kUnary = {"sigmoid", "tanh", "neg", "exp"};
    static const std::vector<std::string> kBinary = {"maximum", "minimum"};
    static const std::vector<std::string> kArithmetic = {"add", "sub"};
    const std::string begin = indent + name + " : Tensor = ";
    switch (below(5)) {
      case 0:
        return begin + "aten::" + kBinary[below(2)] + "(" + some() + ", " + some() + ")\n";
      case 1:
        return begin + "aten::" + kArithmetic[below(2)] + ".Tensor(" + some() + ", " + some() + ", %1)\n";
      default:
        return begin + "aten::" + kUnary[below(4)] + "(" + some() + ")\n";
    }
  };
  const size_t length = 6 + below(20);
  for (size_t i = 0; i < length; ++i) {
    const std::string name = fresh();
    switch (below(12)) {
      case 0:
        text += "  " + name + " : Tensor = aten::relu_(" + (below(6) == 0 ? "%x" : values[values.size() - 1]) + ")\n";
        break;
      case 1: {
        const std::string view = fresh();
        text += "  " + view + " : Tensor = aten::view(" + some() + ", %sizes)\n";
        text += "  " + name + " : Tensor = aten::view(" + view + ", %back)\n";
        break;
      }
      case 2: {
        const std::string list = fresh(), both = fresh();
        text += "  " + list + " : List[Tensor] = prim::ListConstruct(" + some() + ", " + some() + ")\n";
        text += put("  ", fresh());
        text += "  " + both + " : Tensor = aten::cat(" + list + ", %0)\n";
        text += "  " + name + " : Tensor = aten::slice.Tensor(" + both + ", %0, %2, %back_end, %1)\n";
        break;
      }
      case 3: {
        const std::string inner = fresh(), other = fresh();
        text += "  " + name + " : Tensor = prim::If(%flag)\n    block0():\n" + put("      ", inner) + "      -> (" +
                inner + ")\n    block1():\n" + put("      ", other) + "      -> (" + (below(2) == 0 ? other : some()) +
                ")\n";
        break;
      }
      case 4: {
        const std::string carried = fresh(), inner = fresh(), next = fresh();
        text += "  " + name + " : Tensor = prim::Loop(%2, %flag, " + some() + ")\n    block0(%i" + name.substr(1) +
                " : int, " + carried + " : Tensor):\n" + put("      ", inner) + "      " + next +
                " : Tensor = aten::minimum(" + inner + ", " + carried + ")\n      -> (%flag, " + next + ")\n";
        break;
      }
      case 5: {
        const std::string same = fresh();
        text += "  " + same + " : List[str] = aten::append.t(%log, %word)\n" + put("  ", name);
        break;
      }
      default:
        text += put("  ", name);
    }
    values.push_back(name);
  }
  const std::string end = "  %back_end : int = aten::add.int(%rows, %2)\n";
  text.insert(text.find("  %true"), end);
  const std::string last = values.back();
  return text + "  return (" + last + ", " + some() + ")\n";
}

std::vector<IValue> Arguments(const at::Tensor& x, const at::Tensor& y, bool flag) {
  return {x.clone(), y.clone(), flag, c10::List<std::string>()};
}

// What a run of the plan gives is the baseline's, with every guard failing in turn.
void ExpectSameAnswers(const Method& method, const at::Tensor& x, const at::Tensor& y) {
  for (const bool flag : {true, false}) {
    const IValue expected = method.Baseline(Arguments(x, y, flag));
    const IValue kept = method.Plan(Arguments(x, y, flag));
    EXPECT_TRUE(AreEqual(kept, expected)) << PrintGraph(method.plan().executable().graph());
    for (uint32_t guard = 0; guard < method.plan().num_guards(); ++guard) {
      EXPECT_TRUE(AreEqual(method.Plan(Arguments(y, x, flag), static_cast<int32_t>(guard)),
                           method.Baseline(Arguments(y, x, flag))))
          << "guard " << guard << "\n"
          << PrintGraph(method.plan().executable().graph());
    }
    EXPECT_TRUE(AreEqual(kept, expected)) << "an answer is nobody else's memory";
    if (testing::Test::HasFailure()) return;
  }
}

TEST(PlanMemoryTest, RandomProgramsAnswerAsTheBaselineAtEveryGuard) {
  size_t slots = 0, bailouts = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Method method(RandomProgram(seed), Arguments(Input(), Input(), true), Sizes::kExact,
                        /*guard_everywhere=*/true);
    slots += method.slots();
    ExpectSameAnswers(method, Input(), Input());
    if (testing::Test::HasFailure()) return;
    bailouts += method.plan().executable().bailouts().count();
  }
  EXPECT_GT(slots, 500u);
  EXPECT_GT(bailouts, 1000u);
}

TEST(PlanMemoryTest, RandomProgramsForAnySizesAnswerAsTheBaselineWhateverTheSizesAre) {
  at::set_num_threads(1);  // a barrier of threads around so little takes longer than all the rest
  size_t slots = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Method method(RandomProgram(seed), Arguments(Input(), Input(), true), Sizes::kAny,
                        /*guard_everywhere=*/seed % 4 == 0);
    slots += method.slots();
    std::mt19937 random(seed);
    for (int call = 0; call < 12; ++call) {
      const int64_t rows = 2 + random() % 8, columns = 2 + random() % 40;
      ExpectSameAnswers(method, at::rand({rows, columns}), at::rand({rows, columns}));
      if (testing::Test::HasFailure()) return;
    }
    // So that the arena has its memory for a run at a time, or is far larger than was likely; and back.
    for (const int64_t rows : {90, 300, 6}) {
      ExpectSameAnswers(method, at::rand({rows, 100}), at::rand({rows, 100}));
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(slots, 300u);
}

TEST(PlanMemoryTest, RandomProgramsOfLargeTensorsAnswerAsTheBaselineAtEveryGuard) {
  InstallCountingAllocator();
  at::set_num_threads(1);
  size_t placed = 0;
  for (uint32_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto input = [] { return at::rand({30, 600}); };
    const Method method(RandomProgram(seed), Arguments(input(), input(), true),
                        seed % 2 == 0 ? Sizes::kExact : Sizes::kAny, /*guard_everywhere=*/true);
    placed += method.placed();
    EXPECT_EQ(method.slots(), 0u);
    ExpectSameAnswers(method, input(), input());
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(placed, 120u);
}

// A chain of results, of which any two neighbours live at once: these operators write into no operand.
const std::string kChain = R"(graph(%x : Tensor, %n : int):
  %1 : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant[value=None]()
  %a : Tensor = aten::sigmoid(%x)
  %b : Tensor = aten::maximum(%a, %x)
  %c : Tensor = aten::minimum(%b, %a)
  %d : Tensor = aten::softmax.int(%c, %1, %none)
  %e : Tensor = aten::select.int(%d, %1, %n)
  %f : Tensor = aten::exp(%e)
  %g : Tensor = aten::maximum(%d, %x)
  return (%f, %g)
)";

TEST(PlanMemoryTest, ResultsThatDoNotLiveAtOnceShareTheirPlace) {
  for (const Sizes sizes : {Sizes::kExact, Sizes::kAny}) {
    const Method method(kChain, {Input(), 3}, sizes, /*guard_everywhere=*/false);
    EXPECT_EQ(method.slots(), 4u);
    const size_t one = 6 * 20 * sizeof(float);
    const ArenaLayout& layout = method.plan().executable().entry()->arenas->layout();
    EXPECT_EQ(layout.num_given, sizes == Sizes::kExact ? 0u : 2u);
    EXPECT_EQ(layout.places.size(), 3u);
    EXPECT_LE(layout.likely_bytes, 3 * ((one + 63) / 64 * 64));
    EXPECT_GE(method.plan().bytes(), layout.likely_bytes);
  }
}

void ExpectThreadsHaveMemoryOfTheirOwn(int64_t columns, size_t runs) {
  const Method method(kChain, {at::rand({6, columns}), 3}, Sizes::kAny, /*guard_everywhere=*/false);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<at::Tensor> inputs;
      std::vector<IValue> expected;
      for (int64_t rows = 2; rows < 14; ++rows) {
        inputs.push_back(at::rand({rows + 10 * (thread % 2), columns}));
        expected.push_back(method.Baseline({inputs.back(), 5}));
      }
      for (size_t i = 0; i < runs; ++i) {
        EXPECT_TRUE(AreEqual(method.Plan({inputs[i % inputs.size()], 5}), expected[i % inputs.size()]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(PlanMemoryTest, ThreadsThatRunOnePlanHaveMemoryOfTheirOwn) { ExpectThreadsHaveMemoryOfTheirOwn(20, 300); }

TEST(PlanMemoryTest, ThreadsThatRunOnePlanOfLargeTensorsHaveMemoryOfTheirOwn) {
  InstallCountingAllocator();
  ExpectThreadsHaveMemoryOfTheirOwn(20000, 40);
}

TEST(PlanMemoryTest, LargeResultsTakeNoMoreThanTheirPeakAndGiveItBack) {
  InstallCountingAllocator();
  const auto input = [] { return at::rand({40, 20000}); };
  const int64_t one = 40 * 20000 * static_cast<int64_t>(sizeof(float));
  for (const Sizes sizes : {Sizes::kExact, Sizes::kAny}) {
    const Method method(kChain, {input(), 3}, sizes, /*guard_everywhere=*/false);
    EXPECT_EQ(method.placed(), 4u);
    EXPECT_EQ(method.slots(), 0u) << "what is likely to be large is its operator's to make";
    const CompilationReport::Memory& planned = method.plan().memory();
    EXPECT_EQ(planned.planned, 4u);
    EXPECT_EQ(planned.peak, static_cast<size_t>(3 * one));
    EXPECT_EQ(planned.bytes, planned.peak);
    EXPECT_LT(method.plan().bytes(), static_cast<size_t>(one)) << "what runs give back is not the plan's";
    const at::Tensor x = input();
    for (int run = 0; run < 3; ++run) {
      // Its arena and its answer: nothing that it made has other memory.
      const auto account = std::make_shared<MemoryAccount>(4 * one + one / 4);
      const IValue answer = method.Plan({x, 5}, -1, account);
      EXPECT_TRUE(AreEqual(answer, method.Baseline({x, 5})));
      EXPECT_LT(account->held(), one + one / 10 + 100000) << "its answer";
    }
  }
}

TEST(PlanMemoryTest, ARunEndsAtItsMemoryLimitAndNoneBeforeIt) {
  InstallCountingAllocator();
  // The branch is not taken that would need much.
  const Method method(R"(graph(%x : Tensor, %flag : bool):
  %0 : int = prim::Constant[value=0]()
  %a : Tensor = aten::exp(%x)
  %b : Tensor = prim::If(%flag)
    block0():
      %list : List[Tensor] = prim::ListConstruct(%a, %a, %a, %a, %a, %a, %a, %a)
      %all : Tensor = aten::cat(%list, %0)
      %twice : Tensor = aten::maximum(%all, %all)
      %none : NoneType = prim::Constant[value=None]()
      %sum : Tensor = aten::sum(%twice, %none)
      -> (%sum)
    block1():
      %n : Tensor = aten::maximum(%a, %a)
      %none.1 : NoneType = prim::Constant[value=None]()
      %sum.1 : Tensor = aten::sum(%n, %none.1)
      -> (%sum.1)
  return (%b, %b)
)",
                      {at::rand({64, 4096}), true}, Sizes::kExact, /*guard_everywhere=*/false);
  const int64_t one = 64 * 4096 * static_cast<int64_t>(sizeof(float));
  EXPECT_EQ(method.placed(), 3u) << PrintGraph(method.plan().executable().graph());
  const at::Tensor x = at::rand({64, 4096});
  for (int run = 0; run < 2; ++run) {
    EXPECT_TRUE(
        AreEqual(method.Plan({x, false}, -1, std::make_shared<MemoryAccount>(4 * one)), method.Baseline({x, false})));
    EXPECT_THROW(method.Plan({x, true}, -1, std::make_shared<MemoryAccount>(4 * one)), ResourceError);
    EXPECT_TRUE(
        AreEqual(method.Plan({x, true}, -1, std::make_shared<MemoryAccount>(20 * one)), method.Baseline({x, true})));
  }
}

TEST(PlanMemoryTest, ARunThatRaisesInTheMiddleLeavesNothingBehind) {
  for (const Sizes sizes : {Sizes::kExact, Sizes::kAny}) {
    const Method method(kChain, {Input(), 3}, sizes, /*guard_everywhere=*/false);
    const at::Tensor x = Input();
    const IValue expected = method.Baseline({x, 3});
    for (int i = 0; i < 3; ++i) {
      EXPECT_THROW(method.Plan({x, 20}), ModelError);
      EXPECT_TRUE(AreEqual(method.Plan({x, 3}), expected));
    }
    EXPECT_EQ(method.plan().executable().bailouts().count(), 3u);
  }
}

TEST(PlanMemoryTest, SizesThatNoTensorCanHaveAreTheBaselinesToTell) {
  const Method method(R"(graph(%x : Tensor, %n : int):
  %none : NoneType = prim::Constant[value=None]()
  %1 : int = prim::Constant[value=1]()
  %columns : int = aten::size.int(%x, %1)
  %part : int = aten::floordiv.int(%columns, %n)
  %less : int = aten::sub.int(%columns, %n)
  %sizes : List[int] = prim::ListConstruct(%part, %less)
  %y : Tensor = aten::zeros(%sizes, %none, %none, %none, %none)
  %a : Tensor = aten::cos_(%y)
  %b : Tensor = aten::sigmoid(%a)
  %c : Tensor = aten::maximum(%b, %a)
  %d : Tensor = aten::minimum(%c, %a)
  return (%d, %y)
)",
                      {Input(), 4}, Sizes::kAny, /*guard_everywhere=*/false);
  EXPECT_EQ(method.slots(), 2u) << PrintGraph(method.plan().executable().graph());
  const at::Tensor x = Input();
  for (const int64_t n : {4, 5, 10, 1, 2, 20, 4}) {
    EXPECT_TRUE(AreEqual(method.Plan({x, n}), method.Baseline({x, n}))) << n;
  }
  for (const int64_t n : {0, -1, -4, 40}) {
    EXPECT_THROW(method.Baseline({x, n}), ModelError) << n;
    EXPECT_THROW(method.Plan({x, n}), ModelError) << n;
  }
}

TEST(PlanMemoryTest, NumbersMayComeInTuplesAndLists) {
  const std::string text = R"(graph(%pair : Tuple[Tensor, List[Tensor]], %sizes : List[int]):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %x : Tensor = prim::TupleIndex(%pair, %0)
  %none : NoneType = prim::Constant[value=None]()
  %list : List[Tensor] = prim::TupleIndex(%pair, %1)
  %y : Tensor = aten::__getitem__.t(%list, %1)
  %z : Tensor = aten::new_zeros(%x, %sizes, %none, %none, %none, %none)
  %a : Tensor = aten::sigmoid(%y)
  %b : Tensor = aten::maximum(%z, %z)
  %c : Tensor = aten::maximum(%a, %y)
  %d : Tensor = aten::minimum(%b, %z)
  return (%c, %d)
)";
  const auto arguments = [](int64_t n, int64_t m) {
    const c10::List<at::Tensor> list({at::rand({3}), at::rand({m, 7})});
    return std::vector<IValue>{c10::ivalue::Tuple::create({at::rand({n, 4}), list}), c10::List<int64_t>({2, n, 2})};
  };
  const Method method(text, arguments(6, 5), Sizes::kAny, /*guard_everywhere=*/false);
  EXPECT_EQ(method.slots(), 2u) << PrintGraph(method.plan().executable().graph());
  EXPECT_EQ(method.plan().executable().entry()->arenas->layout().num_given, 5u);
  for (int64_t n = 2; n < 20; ++n) {
    const std::vector<IValue> given = arguments(n, 31 - n);
    EXPECT_TRUE(AreEqual(method.Plan(given), method.Baseline(given)));
  }
}

TEST(PlanMemoryTest, WhatAForkSeesHasMemoryOfItsOwn) {
  const Method method(R"(graph(%x : Tensor):
  %a : Tensor = aten::maximum(%x, %x)
  %b : Tensor = aten::minimum(%a, %x)
  %future : Future[Tensor] = prim::fork(%b)
    block0(%captured : Tensor):
      %inner : Tensor = aten::exp(%captured)
      -> (%inner)
  %c : Tensor = aten::minimum(%x, %x)
  %d : Tensor = aten::maximum(%c, %x)
  %e : Tensor = aten::wait(%future)
  %f : Tensor = aten::maximum(%d, %e)
  return (%f, %d)
)",
                      {Input()}, Sizes::kAny, /*guard_everywhere=*/true);
  EXPECT_EQ(method.slots(), 2u) << PrintGraph(method.plan().executable().graph());
  for (int i = 0; i < 3; ++i) {
    const at::Tensor x = Input();
    for (int32_t guard = -1; guard < static_cast<int32_t>(method.plan().num_guards()); ++guard) {
      EXPECT_TRUE(AreEqual(method.Plan({x}, guard), method.Baseline({x})));
    }
  }
}

}  // namespace
}  // namespace hearth
