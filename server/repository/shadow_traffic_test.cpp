#include "server/repository/shadow_traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/repository/live_calls.h"
#include "server/repository/repository_testing.h"

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Was answered with a text; any other is 2 apart. A text that begins with "wrong" cannot be compared. What was answered
// with "late" is cut after a while.
class TextCall : public LiveCall {
 public:
  explicit TextCall(std::string answer) : answer_(std::move(answer)) {}

  const std::string& method() const override { return method_; }
  absl::StatusOr<BoundArguments> Bind(const Servable&) const override {
    if (answer_ == "throws") throw std::bad_alloc();
    return BoundArguments();
  }
  absl::StatusOr<AnswerDifference> Compare(c10::IValue result, const Servable&, double tolerance) const override {
    const std::string& got = result.toStringRef();
    if (answer_ == "late") {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return absl::DeadlineExceededError("the run took longer than it may");
    }
    if (got.starts_with("wrong")) return absl::InternalError("the answer is no text");
    if (got == answer_) return AnswerDifference{"", 1e-9};
    return AnswerDifference{tolerance >= 2 ? "" : absl::StrCat("it is ", got, ", expected ", answer_), 2};
  }

 private:
  const std::string method_ = "forward";
  const std::string answer_;
};

std::string ShadowConfig(const std::string& more = "", int requests = 3) {
  const auto parameter = [](const std::string& name, const std::string& value) {
    return absl::StrCat("\"", name, "\": {\"string_value\": \"", value, "\"}");
  };
  std::string config = absl::StrCat("{\"parameters\": {", parameter("shadow_requests", std::to_string(requests)));
  if (!more.empty()) absl::StrAppend(&config, ", ", more);
  return config + "}}";
}

class ShadowTrafficTest : public RepositoryTest {
 protected:
  ShadowTrafficTest() {
    Put("a/m/1/model.pt", "ok one");
    StartAndLoad();
  }
  ~ShadowTrafficTest() override { EndTraffic(); }

  // What serves is called until the end. The first call gets the first answer, and so on; all further ones the last.
  void BeginTraffic(const std::vector<std::string>& answers = {"one"}) {
    serving_ = repository_->Find("m", "").value();
    traffic_ = std::thread([this, answers] {
      size_t next = 0;
      while (!ended_) {
        if (auto place = serving_->live_calls.TakePlace()) {
          serving_->live_calls.Leave(std::move(place), std::make_unique<TextCall>(answers[next]));
          next = std::min(next + 1, answers.size() - 1);
        }
        std::this_thread::yield();
      }
    });
  }
  void EndTraffic() {
    ended_ = true;
    if (traffic_.joinable()) traffic_.join();
    serving_ = nullptr;
  }

  ServablePtr serving_;
  std::atomic<bool> ended_{false};
  std::thread traffic_;
};

TEST_F(ShadowTrafficTest, AVersionThatAnswersAlikeIsSwappedIn) {
  Put("a/m/2/model.pt", "ok one");
  BeginTraffic();
  EXPECT_TRUE(Load("m", ShadowConfig()).ok());
  EXPECT_EQ(repository_->ServedVersions("m"), std::vector<int64_t>{2});
  EXPECT_THAT(IndexLines()[1], HasSubstr("READY compared with version 1 on 3 live requests: largest difference 1e-09"));
  EXPECT_EQ(repository_->Versions()[0].statistics->snapshot().shadow_requests[0], 3);
  EXPECT_EQ(serving_->live_calls.TakePlace(), nullptr) << "nobody wants more";
}

TEST_F(ShadowTrafficTest, AVersionThatAnswersOtherwiseIsRefused) {
  Put("a/m/2/model.pt", "ok two");
  BeginTraffic();
  const absl::Status refused = Load("m", ShadowConfig());
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(
      std::string(refused.message()),
      HasSubstr("version 2 of 'm': compared with version 1 on 3 live requests: largest difference 2, 3 answered "
                "otherwise (tolerance 0.001), 0 failed; the first: it is two, expected one"));
  EXPECT_EQ(Answer("m"), "one");
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 READY ", HasSubstr("m/2 UNAVAILABLE compared with version 1")));
}

TEST_F(ShadowTrafficTest, DifferencesWithinTheToleranceAreNone) {
  Put("a/m/2/model.pt", "ok two");
  BeginTraffic();
  EXPECT_TRUE(Load("m", ShadowConfig("\"shadow_tolerance\": {\"string_value\": \"2\"}")).ok());
  EXPECT_EQ(Answer("m"), "two");
}

TEST_F(ShadowTrafficTest, DifferencesMayBeReportedAlone) {
  Put("a/m/2/model.pt", "ok two");
  BeginTraffic();
  EXPECT_TRUE(Load("m", ShadowConfig("\"shadow_differences\": {\"string_value\": \"report\"}")).ok());
  EXPECT_EQ(Answer("m"), "two");
  EXPECT_THAT(IndexLines()[1], HasSubstr("3 answered otherwise"));
}

TEST_F(ShadowTrafficTest, RequestsThatFailAreDifferences) {
  Put("a/m/2/model.pt", "ok wrong");
  BeginTraffic();
  EXPECT_THAT(std::string(Load("m", ShadowConfig()).message()),
              HasSubstr("3 failed; the first: it failed: the answer is no text"));
}

TEST_F(ShadowTrafficTest, ArgumentsForWhichThereIsNoMemoryFailTheRequest) {
  Put("a/m/2/model.pt", "ok one");
  BeginTraffic({"throws"});
  EXPECT_THAT(std::string(Load("m", ShadowConfig()).message()), HasSubstr("3 failed; the first: it failed: "));
}

TEST_F(ShadowTrafficTest, WithoutRequestsItIsSwappedInAndThatIsSaid) {
  Put("a/m/2/model.pt", "ok two");
  EXPECT_TRUE(Load("m", ShadowConfig("\"shadow_seconds\": {\"string_value\": \"0.01\"}")).ok());
  EXPECT_EQ(Answer("m"), "two");
  EXPECT_THAT(IndexLines()[1], HasSubstr("not compared with version 1: no request came within 0.01 s"));
}

TEST_F(ShadowTrafficTest, ARunThatIsCutIsNoFailure) {
  BeginTraffic({"one", "late"});
  const ShadowSettings settings{.requests = 3, .seconds = 0.05, .grace = std::chrono::milliseconds(10)};
  const auto text = CompareOnLiveRequests(*serving_, *serving_, settings, 0, {});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("on 1 live requests"));
}

TEST_F(ShadowTrafficTest, AVersionOfWhichNoRunEndsIsRefused) {
  BeginTraffic({"late"});
  const ShadowSettings settings{.requests = 3, .seconds = 0.05, .grace = std::chrono::milliseconds(10)};
  EXPECT_TRUE(absl::IsFailedPrecondition(CompareOnLiveRequests(*serving_, *serving_, settings, 0, {}).status()));
}

TEST_F(ShadowTrafficTest, TheFirstVersionIsComparedWithNone) {
  Put("a/n/1/model.pt", "ok one");
  EXPECT_TRUE(Load("n", ShadowConfig()).ok());
  EXPECT_EQ(IndexLines()[1], "n/1 READY ");
}

TEST_F(ShadowTrafficTest, ARollbackIsComparedWithNothing) {
  Put("a/m/2/model.pt", "ok two");
  EXPECT_TRUE(Load("m").ok());
  EXPECT_TRUE(RollBack("m").ok());
  EXPECT_EQ(Answer("m"), "one");
}

TEST_F(ShadowTrafficTest, AServerThatEndsDoesNotWaitForRequests) {
  Put("a/m/2/model.pt", "ok two");
  std::promise<absl::Status> loaded;
  repository_->Load("m", ShadowConfig("\"shadow_seconds\": {\"string_value\": \"3600\"}"),
                    [&](absl::Status status) { loaded.set_value(std::move(status)); });
  const ServablePtr serving = repository_->Find("m", "").value();
  while (serving->live_calls.TakePlace() == nullptr) std::this_thread::yield();
  repository_->StopLoading();
  EXPECT_TRUE(absl::IsUnavailable(loaded.get_future().get()));
}

TEST_F(ShadowTrafficTest, PlacesAreFew) {
  LiveCalls calls;
  EXPECT_EQ(calls.TakePlace(), nullptr);
  calls.Begin();
  std::vector<LiveCalls::Place> places;
  while (auto place = calls.TakePlace()) places.push_back(std::move(place));
  EXPECT_EQ(places.size(), LiveCalls::kPlaces);
  calls.Leave(std::move(places.back()), std::make_unique<TextCall>("one"));
  EXPECT_EQ(calls.TakePlace(), nullptr) << "one waits, the others are under way";
  EXPECT_NE(calls.Next(LiveCalls::Clock::now(), {}), nullptr);
  EXPECT_NE(calls.TakePlace(), nullptr);
  EXPECT_EQ(calls.Next(LiveCalls::Clock::now(), {}), nullptr);
  calls.End();
  EXPECT_EQ(calls.TakePlace(), nullptr);
}

TEST(ShadowSettings, AreNotForModelsWithSequences) {
  inference::ModelConfig config;
  config.mutable_sequence_batching();
  EXPECT_TRUE(ShadowSettingsOf(config).ok());
  EXPECT_THAT(std::string(ShadowSettingsOf(config, {{"shadow_requests", "5"}}).status().message()),
              HasSubstr("is not for a model with sequences"));
}

TEST(ShadowSettings, AreWithinTheirBounds) {
  const auto read = [](const std::string& name, const std::string& value) {
    inference::ModelConfig config;
    (*config.mutable_parameters())[name].set_string_value(value);
    return ShadowSettingsOf(config).status();
  };
  for (const auto& [name, value] : {std::pair("shadow_requests", "0"),
                                    {"shadow_requests", "1000000"},
                                    {"shadow_seconds", "0.5"},
                                    {"shadow_tolerance", "0"},
                                    {"shadow_tolerance", "1e-6"},
                                    {"shadow_differences", "report"},
                                    {"shadow_differences", "refuse"}}) {
    EXPECT_TRUE(read(name, value).ok()) << name << ' ' << value;
  }
  for (const auto& [name, value] : {std::pair("shadow_requests", "-1"),
                                    {"shadow_requests", "1000001"},
                                    {"shadow_requests", "many"},
                                    {"shadow_seconds", "3601"},
                                    {"shadow_seconds", "nan"},
                                    {"shadow_tolerance", "-1"},
                                    {"shadow_tolerance", "inf"},
                                    {"shadow_tolerance", ""},
                                    {"shadow_differences", "ignore"}}) {
    EXPECT_THAT(std::string(read(name, value).message()), HasSubstr(absl::StrCat("the parameter ", name, " is '")))
        << value;
  }
}

}  // namespace
}  // namespace hearth::server
