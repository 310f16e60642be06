// Interleavings of runs, driven by an operator that holds a run until the test lets it go.
#include "jit/executor/model_executor.h"

#include <gtest/gtest.h>
#include <torch/library.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "jit/executor/code_builder.h"
#include "jit/tools/ir_file.h"

namespace hearth {
namespace {

class Holds {
 public:
  void Enter(int64_t key) {
    std::unique_lock lock(mutex_);
    ++entered_[key];
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_.count(key) != 0; });
  }
  void Open(int64_t key) {
    std::lock_guard lock(mutex_);
    open_.insert(key);
    changed_.notify_all();
  }
  void AwaitEntered(int64_t key, int times) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return entered_[key] >= times; });
  }
  int entered(int64_t key) {
    std::lock_guard lock(mutex_);
    return entered_[key];
  }
  void Reset() {
    std::lock_guard lock(mutex_);
    entered_.clear();
    open_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, int> entered_;
  std::set<int64_t> open_;
};

Holds& holds() {
  static Holds instance;
  return instance;
}

int64_t Hold(int64_t key) {
  holds().Enter(key);
  return key;
}

TORCH_LIBRARY(hearth_test, library) { library.def("hold(int key) -> int", Hold); }

constexpr char kModel[] = R"(
class __torch__.M:
  a : int = 0
  b : int = 0
  scratch : int = 0
  unwritten : int = 3
  weight : Tensor = zeros([2])
  scaled : Tensor = zeros([2])
  log : List[Tensor] = []
  def write_a:
    graph(%self : __torch__.M, %key : int):
      %one : int = prim::Constant[value=1]()
      %n : int = prim::GetAttr[name="a"](%self)
      %k : int = hearth_test::hold(%key)
      %m : int = aten::add.int(%n, %one)
      prim::SetAttr[name="a"](%self, %m)
      return (%m)
  def write_b:
    graph(%self : __torch__.M, %key : int):
      %one : int = prim::Constant[value=1]()
      %n : int = prim::GetAttr[name="b"](%self)
      %k : int = hearth_test::hold(%key)
      %m : int = aten::add.int(%n, %one)
      prim::SetAttr[name="b"](%self, %m)
      return (%m)
  def peek:
    graph(%self : __torch__.M):
      %n : int = prim::GetAttr[name="a"](%self)
      return (%n)
  def draw:
    graph(%self : __torch__.M, %x : Tensor):
      %none : NoneType = prim::Constant[value=None]()
      %y : Tensor = aten::rand_like(%x, %none, %none, %none, %none, %none)
      return (%y)
  def read_a:
    graph(%self : __torch__.M, %key : int):
      %k : int = hearth_test::hold(%key)
      %n : int = prim::GetAttr[name="a"](%self)
      return (%n)
  def count_then_hold:
    graph(%self : __torch__.M, %key : int):
      %one : int = prim::Constant[value=1]()
      %n : int = prim::GetAttr[name="b"](%self)
      %m : int = aten::add.int(%n, %one)
      prim::SetAttr[name="b"](%self, %m)
      %k : int = hearth_test::hold(%key)
      return (%m)
  def write_a_and_raise:
    graph(%self : __torch__.M, %n : int):
      %message : str = prim::Constant[value="no"]()
      prim::SetAttr[name="a"](%self, %n)
      prim::RaiseException(%message)
      return (%n)
  def through_scratch:
    graph(%self : __torch__.M, %key : int, %n : int):
      prim::SetAttr[name="scratch"](%self, %n)
      %k : int = hearth_test::hold(%key)
      %m : int = prim::GetAttr[name="scratch"](%self)
      return (%m)
  def compute:
    graph(%self : __torch__.M, %n : int):
      %unwritten : int = prim::GetAttr[name="unwritten"](%self)
      %m : int = aten::add.int(%n, %unwritten)
      return (%m)
  def gather:
    graph(%self : __torch__.M, %x : Tensor):
      %weight : Tensor = prim::GetAttr[name="weight"](%self)
      %parts : List[Tensor] = prim::ListConstruct(%weight)
      %0 : List[Tensor] = aten::append(%parts, %x)
      %1 : int = prim::Constant[value=0]()
      %2 : Tensor = aten::cat(%parts, %1)
      return (%2)
  def scale_gathered:
    graph(%self : __torch__.M, %x : Tensor):
      %scaled : Tensor = prim::GetAttr[name="scaled"](%self)
      %parts : List[Tensor] = prim::ListConstruct(%x, %scaled)
      %0 : int = prim::Constant[value=1]()
      %1 : Tensor = aten::__getitem__(%parts, %0)
      %2 : Tensor = aten::add_(%1, %0, %0)
      return (%2)
  def append_to_log:
    graph(%self : __torch__.M, %x : Tensor):
      %log : List[Tensor] = prim::GetAttr[name="log"](%self)
      %0 : List[Tensor] = aten::append(%log, %x)
      %1 : int = aten::len(%log)
      return (%1)
  def fork_a:
    graph(%self : __torch__.M, %key : int):
      %f : Future[int] = prim::fork(%self, %key)
        block0(%s : __torch__.M, %k : int):
          %0 : int = hearth_test::hold(%k)
          prim::SetAttr[name="a"](%s, %k)
          -> (%k)
      return (%key)

graph(%self : __torch__.M):
  return (%self)
)";

class Answer {
 public:
  Completion completion() {
    return [this](const c10::IValue& value, const std::exception_ptr& error) {
      std::lock_guard lock(mutex_);
      value_ = value;
      raised_ = error != nullptr;
      done_ = true;
      changed_.notify_all();
    };
  }
  int64_t Get() {
    Wait();
    return value_.toInt();
  }
  bool Raised() {
    Wait();
    return raised_;
  }

 private:
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  c10::IValue value_;
  bool raised_ = false;
  bool done_ = false;
};

class ModelExecutorTest : public testing::Test {
 protected:
  ModelExecutorTest() : file_(std::make_shared<const Source>(kModel, "model.ir")), self_(file_.MakeSelf()) {
    holds().Reset();
    const std::shared_ptr<CompilationUnit> unit(std::shared_ptr<void>(), const_cast<CompilationUnit*>(&file_.unit()));
    CodeBuilder builder(*unit, std::nullopt);
    executor_ = std::make_shared<ModelExecutor>(unit, self_, builder, std::make_shared<TurnList>(), &pool_);
  }

  std::unique_ptr<Answer> Start(const char* method, std::vector<c10::IValue> arguments) {
    auto answer = std::make_unique<Answer>();
    arguments.insert(arguments.begin(), self_);
    executor_->RunAsync(*executor_->Find(method), std::move(arguments), {}, answer->completion());
    return answer;
  }

  const IrFile file_;
  const c10::intrusive_ptr<c10::ivalue::Object> self_;
  ThreadPool pool_{4};
  std::shared_ptr<ModelExecutor> executor_;
};

TEST_F(ModelExecutorTest, RunsThatTouchDifferentAttributesOverlap) {
  holds().Open(2);
  const auto a = Start("write_a", {1});
  holds().AwaitEntered(1, 1);
  EXPECT_EQ(Start("write_b", {2})->Get(), 1);
  holds().Open(1);
  EXPECT_EQ(a->Get(), 1);
}

TEST_F(ModelExecutorTest, WritersOfAnAttributeTakeTurnsInTheOrderTheyCame) {
  holds().Open(2);
  holds().Open(3);
  const auto first = Start("write_a", {1});
  holds().AwaitEntered(1, 1);
  const auto second = Start("write_a", {2});
  // Later than the second, and through: whoever could have run meanwhile has.
  EXPECT_EQ(Start("write_b", {3})->Get(), 1);
  EXPECT_EQ(holds().entered(2), 0);
  holds().Open(1);
  EXPECT_EQ(first->Get(), 1);
  EXPECT_EQ(second->Get(), 2);
}

TEST_F(ModelExecutorTest, AReaderSeesWhatTheWriterBeforeItLeavesAndNotWhatTheOneBehindItDoes) {
  for (int64_t key : {2, 3}) holds().Open(key);
  const auto writer = Start("write_a", {1});
  holds().AwaitEntered(1, 1);
  const auto reader = Start("read_a", {2});
  const auto next_writer = Start("write_a", {3});
  holds().Open(1);
  EXPECT_EQ(writer->Get(), 1);
  EXPECT_EQ(reader->Get(), 1);
  EXPECT_EQ(next_writer->Get(), 2);
}

TEST_F(ModelExecutorTest, RunsOverlapOnceTheyAreThroughWithWhatTheyWrite) {
  const auto a = Start("count_then_hold", {1});
  const auto b = Start("count_then_hold", {1});
  holds().AwaitEntered(1, 2);
  holds().Open(1);
  EXPECT_EQ(a->Get(), 1);
  EXPECT_EQ(b->Get(), 2);
}

TEST_F(ModelExecutorTest, ScratchAttributesAreEachRunsOwn) {
  const auto a = Start("through_scratch", {1, 10});
  const auto b = Start("through_scratch", {1, 20});
  holds().AwaitEntered(1, 2);
  holds().Open(1);
  EXPECT_EQ(a->Get(), 10);
  EXPECT_EQ(b->Get(), 20);
  EXPECT_TRUE(executor_->Find("through_scratch")->plan.empty());
}

TEST_F(ModelExecutorTest, ARunThatRaisesGivesBackWhatItHeld) {
  holds().Open(1);
  EXPECT_TRUE(Start("write_a_and_raise", {7})->Raised());
  EXPECT_EQ(Start("write_a", {1})->Get(), 8);
}

TEST_F(ModelExecutorTest, AForkHoldsWhatItWritesThoughItsParentHasEnded) {
  holds().Open(9);
  EXPECT_EQ(Start("fork_a", {5})->Get(), 5);
  holds().AwaitEntered(5, 1);
  const auto reader = Start("read_a", {9});
  holds().Open(5);
  EXPECT_EQ(reader->Get(), 5);
}

TEST_F(ModelExecutorTest, RunsOfMethodsThatTouchNoStateWaitForNobody) {
  EXPECT_TRUE(executor_->Find("compute")->plan.empty());
  EXPECT_FALSE(executor_->Find("read_a")->plan.empty());
  EXPECT_EQ(executor_->Find("no such method"), nullptr);
}

TEST_F(ModelExecutorTest, WhatARunDoesBesideAnsweringIsTold) {
  const auto effect = [&](const char* method) { return executor_->SideEffect(*executor_->Find(method)); };
  EXPECT_EQ(effect("compute"), "");
  EXPECT_EQ(effect("peek"), "");
  EXPECT_EQ(effect("read_a"), "may print, warn or change global state (hearth_test::hold at model.ir:37)")
      << "what a library's operator does is not known";
  EXPECT_EQ(effect("write_a").find("writes the model's state (prim::SetAttr"), 0U) << effect("write_a");
  EXPECT_EQ(effect("append_to_log").find("writes the model's state (aten::append"), 0U) << effect("append_to_log");
  EXPECT_EQ(effect("draw").find("draws random numbers (aten::rand_like"), 0U) << effect("draw");
}

TEST_F(ModelExecutorTest, AListThatARunMadeIsItsOwnWhateverItHolds) {
  EXPECT_TRUE(executor_->Find("gather")->plan.empty());
  EXPECT_FALSE(executor_->Find("scale_gathered")->plan.empty());
  EXPECT_FALSE(executor_->Find("append_to_log")->plan.empty());
}

}  // namespace
}  // namespace hearth
