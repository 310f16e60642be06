// How a model ends, seen through the door.
#include "jit/runtime.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>

namespace hearth {
namespace {

// What a model may hold: its end waits for somebody, for as long as a test has patience.
struct Slow : torch::CustomClassHolder {
  static std::promise<void> may_end;
  static std::promise<bool> ended;  // whether he came
  bool waits = false;

  ~Slow() override {
    if (!waits) return;
    ended.set_value(may_end.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready);
  }
};
// Tells which priority the thread has that loads it.
struct Loaded : torch::CustomClassHolder {
  static std::atomic<int> priority;
};
std::atomic<int> Loaded::priority;
std::promise<void> Slow::may_end;
std::promise<bool> Slow::ended;

const auto registered = torch::class_<Slow>("hearth_runtime_test", "Slow")
                            .def(torch::init<>())
                            .def_pickle([](const c10::intrusive_ptr<Slow>&) { return int64_t{1}; },
                                        [](int64_t) {
                                          auto slow = c10::make_intrusive<Slow>();
                                          slow->waits = true;
                                          return slow;
                                        });
const auto loaded_registered = torch::class_<Loaded>("hearth_runtime_test", "Loaded")
                                   .def(torch::init<>())
                                   .def_pickle([](const c10::intrusive_ptr<Loaded>&) { return int64_t{1}; },
                                               [](int64_t) {
                                                 Loaded::priority = getpriority(PRIO_PROCESS, 0);
                                                 return c10::make_intrusive<Loaded>();
                                               });

std::string SaveCode(const std::string& name, const std::string& code) {
  torch::jit::Module module("M");
  module.define(code);
  const std::string path = (std::filesystem::temp_directory_path() / ("hearth_runtime_test_" + name + ".pt")).string();
  module.save(path);
  return path;
}

std::string SaveModel(bool is_slow) {
  torch::jit::Module module("M");
  if (is_slow) {
    const auto slow = c10::make_intrusive<Slow>();
    const c10::IValue value(slow);
    module.register_attribute("slow", value.type(), value);
  }
  module.define("def forward(self, x):\n  return x + 1\n");
  const std::string path = (std::filesystem::temp_directory_path() /
                            (std::string("hearth_runtime_test_") + (is_slow ? "slow" : "quick") + ".pt"))
                               .string();
  module.save(path);
  return path;
}

TEST(RuntimeTest, TheLastCallOfAModelLeavesItsEndToAnotherThread) {
  RuntimeOptions options;
  options.threads = 1;
  auto runtime = Runtime::Create(options);
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  auto quick = (*runtime)->Load(SaveModel(false), {});
  ASSERT_TRUE(quick.ok()) << quick.status();
  auto slow = (*runtime)->Load(SaveModel(true), {});
  ASSERT_TRUE(slow.ok()) << slow.status();

  std::promise<void> dropped, answered;
  CallOptions call;
  call.on_start = [&] { dropped.get_future().wait(); };
  (*slow)->CallAsync("forward", {at::ones({2})}, {}, call, [&](const absl::StatusOr<c10::IValue>& answer) {
    EXPECT_TRUE(answer.ok()) << answer.status();
    answered.set_value();
  });
  slow->reset();
  dropped.set_value();
  answered.get_future().wait();
  // The only thread that there is for calls serves the next one, and that lets the model end.
  EXPECT_TRUE((*quick)->Call("forward", {at::ones({2})}, {}).ok());
  Slow::may_end.set_value();
  EXPECT_TRUE(Slow::ended.get_future().get());
}

TEST(RuntimeTest, ARunEndsWhenItHasTakenAsLongAsItMayAndThatIsNotTheTimeThatItWaited) {
  RuntimeOptions options;
  options.threads = 1;
  options.run_time_limit = std::chrono::milliseconds(50);
  auto runtime = Runtime::Create(options);
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  const std::string path =
      SaveCode("endless", "def forward(self, x, go_on: bool):\n  while go_on:\n    x = x + 1\n  return x\n");
  auto model = (*runtime)->Load(path, {});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_GT((*model)->code_bytes(), 0u);
  EXPECT_EQ((*model)->memory_use(), MemoryUse{.host = (*model)->weight_bytes() + (*model)->code_bytes()});
  // The second one waits for the only thread for longer than a run may take.
  std::promise<absl::Status> endless, waits;
  (*model)->CallAsync("forward", {at::ones({1}), true}, {}, {},
                      [&](const absl::StatusOr<c10::IValue>& answer) { endless.set_value(answer.status()); });
  (*model)->CallAsync("forward", {at::ones({1}), false}, {}, {},
                      [&](const absl::StatusOr<c10::IValue>& answer) { waits.set_value(answer.status()); });
  const absl::Status ended = endless.get_future().get();
  EXPECT_EQ(ended.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ended.message(), "the run took longer than it may: more than 0.05 s");
  EXPECT_TRUE(waits.get_future().get().ok());

  CallOptions call;
  call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  const absl::Status late = (*model)->Call("forward", {at::ones({1}), true}, {}, call).status();
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(late.message(), "the deadline passed before the model finished");
}

TEST(RuntimeTest, WhatIsDoneInTheBackgroundHasALowPriority) {
  const int usual = getpriority(PRIO_PROCESS, 0);
  const int low = std::min(usual + 5, 19);
  const auto runtime = Runtime::Create({});
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  torch::jit::Module module("M");
  const c10::IValue loaded(c10::make_intrusive<Loaded>());
  module.register_attribute("loaded", loaded.type(), loaded);
  module.define("def forward(self, x):\n  return x + 1\ndef draw(self, x):\n  return x + torch.rand_like(x)\n");
  const std::string path = (std::filesystem::temp_directory_path() / "hearth_runtime_test_priority.pt").string();
  module.save(path);
  for (const bool in_background : {false, true}) {
    LoadOptions load;
    load.in_background = in_background;
    const auto model = (*runtime)->Load(path, load);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(Loaded::priority, in_background ? low : usual);
    const auto priority_of = [&](const char* method) {
      int priority = -1;
      CallOptions call;
      call.in_background = in_background;
      call.on_start = [&] { priority = getpriority(PRIO_PROCESS, 0); };
      EXPECT_TRUE((*model)->Call(method, {at::ones({2})}, {}, call).ok());
      return priority;
    };
    EXPECT_EQ(priority_of("forward"), in_background ? low : usual);
    EXPECT_EQ(priority_of("draw"), usual) << "others may wait for their turn to draw";
  }
  std::filesystem::remove(path);
}

TEST(RuntimeTest, AModelMayHaveALimitOfItsRunsTimeOfItsOwn) {
  RuntimeOptions options;
  options.run_time_limit = std::chrono::hours(1);
  auto runtime = Runtime::Create(options);
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  LoadOptions load;
  load.run_time_limit = std::chrono::milliseconds(10);
  auto model =
      (*runtime)->Load(SaveCode("own", "def forward(self, x):\n  while True:\n    x = x + 1\n  return x\n"), load);
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::Status ended = (*model)->Call("forward", {at::ones({1})}, {}).status();
  EXPECT_EQ(ended.message(), "the run took longer than it may: more than 0.01 s");
}

TEST(RuntimeTest, ACallTellsItsTierAndTheFirstOperatorsThatItRan) {
  for (const auto& [tier, number] : {std::pair(Tier::kBaseline, 0u), std::pair(Tier::kSpecialised, 1u)}) {
    RuntimeOptions options;
    options.threads = 1;
    options.compiler.tier = tier;
    auto runtime = Runtime::Create(options);
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    auto model = (*runtime)->Load(SaveModel(false), {});
    ASSERT_TRUE(model.ok()) << model.status();
    for (const size_t most : {size_t{0}, size_t{100}}) {
      unsigned told = 7;
      CallOptions call;
      call.tier = &told;
      call.report = std::make_shared<CallReport>();
      call.report->most_events = most;
      const auto start = std::chrono::steady_clock::now();
      ASSERT_TRUE((*model)->Call("forward", {at::ones({2})}, {}, call).ok());
      EXPECT_EQ(told, number);
      const auto& events = call.report->runs.at(0).events;
      const auto add =
          std::ranges::find_if(events, [](const auto& event) { return event.name.find("add") != std::string::npos; });
      ASSERT_EQ(add != events.end(), most > 0);
      if (most == 0) continue;
      EXPECT_GE(add->start, start);
      EXPECT_LE(add->start + add->time, std::chrono::steady_clock::now());
      EXPECT_NE(add->where, "");
    }
  }
}

}  // namespace
}  // namespace hearth
