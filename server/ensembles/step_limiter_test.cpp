#include "server/ensembles/step_limiter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <vector>

namespace hearth::server {
namespace {

using std::chrono::milliseconds;

class StepLimiterTest : public ::testing::Test {
 protected:
  const StepLimiter::Post post_ = [](const std::function<void()>& work) { work(); };
  AlarmClock alarms_;
};

TEST_F(StepLimiterTest, ThoseThatWaitGoOnInTheirOrderAsOthersLeave) {
  const auto limiter = std::make_shared<StepLimiter>(2, alarms_, post_);
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) {
    limiter->Enter(std::nullopt, [&order, i](const absl::Status& status) {
      EXPECT_TRUE(status.ok());
      order.push_back(i);
    });
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1}));
  limiter->Leave();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  for (int i = 0; i < 4; ++i) limiter->Leave();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  bool entered = false;
  limiter->Enter(std::nullopt, [&](const absl::Status& status) { entered = status.ok(); });
  EXPECT_TRUE(entered);
}

TEST_F(StepLimiterTest, ADeadlineEndsTheWaitAndLeavesTheOthers) {
  const auto limiter = std::make_shared<StepLimiter>(1, alarms_, post_);
  limiter->Enter(std::nullopt, [](const absl::Status&) {});
  std::promise<absl::Status> late, patient;
  limiter->Enter(std::chrono::steady_clock::now() + milliseconds(5),
                 [&](absl::Status status) { late.set_value(std::move(status)); });
  limiter->Enter(std::nullopt, [&](absl::Status status) { patient.set_value(std::move(status)); });
  EXPECT_EQ(late.get_future().get().code(), absl::StatusCode::kDeadlineExceeded);
  limiter->Leave();
  EXPECT_TRUE(patient.get_future().get().ok());
}

TEST_F(StepLimiterTest, OneThatIsWithdrawnIsForgottenAndTheNextOneGoesOn) {
  const auto limiter = std::make_shared<StepLimiter>(1, alarms_, post_);
  EXPECT_FALSE(limiter->Enter(std::nullopt, [](const absl::Status&) {}));
  const auto held = std::make_shared<int>();
  const auto ticket = limiter->Enter(std::nullopt, [held](const absl::Status&) { FAIL() << "it was withdrawn"; });
  bool entered = false;
  const auto next = limiter->Enter(std::nullopt, [&](const absl::Status& status) { entered = status.ok(); });
  ASSERT_TRUE(ticket && next);
  limiter->Withdraw(*ticket);
  EXPECT_EQ(held.use_count(), 1);
  limiter->Leave();
  EXPECT_TRUE(entered);
  limiter->Withdraw(*next);
}

TEST_F(StepLimiterTest, AnEarlierDeadlineThatComesLaterIsSeenAndTheOtherOneToo) {
  const auto limiter = std::make_shared<StepLimiter>(1, alarms_, post_);
  limiter->Enter(std::nullopt, [](const absl::Status&) {});
  const auto now = std::chrono::steady_clock::now();
  std::promise<absl::StatusCode> first, second;
  limiter->Enter(now + milliseconds(30), [&](const absl::Status& status) { second.set_value(status.code()); });
  limiter->Enter(now + milliseconds(5), [&](const absl::Status& status) { first.set_value(status.code()); });
  EXPECT_EQ(first.get_future().get(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(second.get_future().get(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace hearth::server
