#include "server/api/request_task.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <utility>

#include "server/repository/repository_testing.h"

namespace hearth::server {
namespace {

// Calls model m with nothing.
class PlainTask : public RequestTask {
 public:
  using RequestTask::RequestTask;

  std::function<void()> when_identified = [] {};
  absl::Status encoded;  // what Encode says

 protected:
  bool IsShort(const grpc::ByteBuffer&) const override { return true; }
  const char* operation() const override { return "plain"; }
  absl::StatusOr<DispatchedCall> Prepare(const grpc::ByteBuffer&) override {
    const absl::Status status = Identify("m", "", "");
    when_identified();
    if (!status.ok()) return status;
    return DispatchedCall();
  }
  absl::Status Encode(c10::IValue, grpc::ByteBuffer&) override { return encoded; }
};

class RequestTaskTest : public RepositoryTest {
 protected:
  RequestTaskTest() {
    Put("a/m/1/model.pt", "ok one");
    StartAndLoad();
    environment_.emplace(RequestEnvironment{*repository_, dispatcher_, regions_});
    task_ = std::make_shared<PlainTask>(*environment_);
  }

  std::future<absl::Status> Begin() {
    // The answer keeps the task.
    const auto done = std::make_shared<std::promise<absl::Status>>();
    task_->Start(message_, std::nullopt, "",
                 [done, task = task_](absl::Status status, grpc::ByteBuffer&) { done->set_value(std::move(status)); });
    return done->get_future();
  }

  Dispatcher dispatcher_{{}, [](const std::function<void()>& work) { work(); }};
  const SharedRegions regions_{false};
  std::optional<RequestEnvironment> environment_;
  const grpc::ByteBuffer message_;
  std::shared_ptr<PlainTask> task_;
};

TEST_F(RequestTaskTest, AnAnswerThatIsLateIsNotTheModelsFailure) {
  task_->encoded = absl::DeadlineExceededError("the request's deadline had passed before its answer was written");
  EXPECT_TRUE(absl::IsDeadlineExceeded(Begin().get()));
  const auto failures = repository_->Versions()[0].statistics->snapshot().failures;
  EXPECT_EQ(failures[static_cast<int>(FailureReason::kBackend)], 0);
  EXPECT_EQ(failures[static_cast<int>(FailureReason::kCanceled)], 1);
}

TEST_F(RequestTaskTest, WhoIsCancelledBeforeItWaitsForALoadDoesNotWait) {
  ASSERT_EQ(repository_->UnloadIdle(std::chrono::seconds(0)), 1);
  runtime_.load_gate.Shut();
  task_->when_identified = [this] { task_->Cancel(); };
  auto ended = Begin();
  EXPECT_EQ(ended.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  runtime_.load_gate.Open();
  EXPECT_TRUE(absl::IsCancelled(ended.get()));
}

TEST_F(RequestTaskTest, ATaskThatIsCancelledWhileItWaitsForALoadIsGone) {
  ASSERT_EQ(repository_->UnloadIdle(std::chrono::seconds(0)), 1);
  runtime_.load_gate.Shut();
  auto ended = Begin();
  const std::weak_ptr<PlainTask> task = std::exchange(task_, nullptr);
  ASSERT_FALSE(task.expired());
  task.lock()->Cancel();
  EXPECT_TRUE(absl::IsCancelled(ended.get()));
  EXPECT_TRUE(task.expired());
  runtime_.load_gate.Open();
}

}  // namespace
}  // namespace hearth::server
