#include "jit/support/disposal_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace hearth {
namespace {

// Tells where it ends, after what it holds.
struct Mortal {
  std::shared_ptr<const Mortal> held;
  std::promise<std::thread::id>* ended;
  ~Mortal() {
    held = nullptr;
    ended->set_value(std::this_thread::get_id());
  }
};

TEST(DisposalThreadTest, WhoDropsTheLastReferenceDoesNotWaitForTheEnd) {
  std::promise<void> may_end;
  std::promise<std::thread::id> ended;
  DisposalThread thread;
  const auto end = [&](Mortal* mortal) {
    may_end.get_future().wait();
    delete mortal;
  };
  std::shared_ptr<Mortal> last =
      thread.queue()->Own(std::unique_ptr<Mortal, decltype(end)>(new Mortal{nullptr, &ended}, end));
  last = nullptr;
  may_end.set_value();
  EXPECT_NE(ended.get_future().get(), std::this_thread::get_id());
}

TEST(DisposalThreadTest, WhatIsDestroyedMayHandOnWhatItHeldAndTheThreadEndsAfterAllOfIt) {
  std::promise<std::thread::id> outer_ended, inner_ended;
  {
    DisposalThread thread;
    std::shared_ptr<Mortal> inner = thread.queue()->Own(std::unique_ptr<Mortal>(new Mortal{nullptr, &inner_ended}));
    thread.queue()->Own(std::unique_ptr<Mortal>(new Mortal{std::move(inner), &outer_ended}));
  }
  std::future<std::thread::id> inner = inner_ended.get_future();
  ASSERT_EQ(inner.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_EQ(outer_ended.get_future().get(), inner.get());
}

TEST(DisposalThreadTest, WhatOutlivesTheThreadIsDestroyedWithItsLastReference) {
  std::promise<std::thread::id> ended;
  std::shared_ptr<Mortal> last;
  {
    DisposalThread thread;
    last = thread.queue()->Own(std::unique_ptr<Mortal>(new Mortal{nullptr, &ended}));
  }
  std::future<std::thread::id> end = ended.get_future();
  EXPECT_EQ(end.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  last = nullptr;
  EXPECT_EQ(end.wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

}  // namespace
}  // namespace hearth
