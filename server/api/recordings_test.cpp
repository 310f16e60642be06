#include "server/api/recordings.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "server/api/byte_buffer_testing.h"

namespace hearth::server {
namespace {

class RecordingsTest : public ::testing::Test {
 protected:
  std::shared_ptr<Recording> Begin(Recording::Bounds bounds = {.version = 0, .requests = 0, .bytes = 1 << 20}) {
    return recordings_.Begin("m", bounds, [this] { ++changes_; }).value();
  }
  // One request from its beginning to its end.
  bool Ask(const std::string& message, const std::string& answer = "", int64_t version = 1) {
    const auto call = recordings_.Take("m", version, Recording::Clock::now());
    if (call == nullptr) return false;
    if (!call->TakeRoom(message.size())) return false;
    call->SetRequest("service/Method", Cut(message, 7));
    if (!answer.empty()) call->SetAnswer(Cut(answer, 7));
    call->End("POST /somewhere", absl::OkStatus());
    return true;
  }

  MemoryAccount memory_{int64_t{1} << 30};
  Recordings recordings_{&memory_};
  int changes_ = 0;
};

TEST_F(RecordingsTest, WhatHasEndedIsTaken) {
  EXPECT_EQ(recordings_.Take("m", 1, Recording::Clock::now()), nullptr);
  const auto recording = Begin({.version = 0, .requests = 0, .bytes = 1 << 20, .answers = true});
  EXPECT_TRUE(Ask("the request", "its answer"));
  EXPECT_EQ(changes_, 1);
  auto entry = recording->Next();
  ASSERT_TRUE(entry);
  EXPECT_EQ(Join(entry->request), "the request");
  EXPECT_EQ(Join(entry->answer), "its answer");
  EXPECT_STREQ(entry->method, "service/Method");
  EXPECT_STREQ(entry->came_by, "POST /somewhere");
  EXPECT_FALSE(recording->Next());
  EXPECT_FALSE(recording->ending());
}

TEST_F(RecordingsTest, ARequestThatCannotBeReadIsNoRecord) {
  const auto recording = Begin({.version = 0, .requests = 1, .bytes = 1 << 20});
  recordings_.Take("m", 1, Recording::Clock::now())->End("", absl::InvalidArgumentError("no message"));
  EXPECT_FALSE(recording->ending());
  EXPECT_TRUE(Ask("good"));
  EXPECT_TRUE(recording->Next());
  EXPECT_EQ(recording->ending()->requests, 1);
  EXPECT_EQ(recording->ending()->lost, 0);
}

TEST_F(RecordingsTest, ItEndsWithItsRequests) {
  const auto recording = Begin({.version = 0, .requests = 2, .bytes = 1 << 20});
  EXPECT_TRUE(Ask("one") && Ask("two"));
  EXPECT_FALSE(Ask("three"));
  EXPECT_FALSE(recording->ending()) << "they are not taken";
  EXPECT_TRUE(recording->Next() && recording->Next());
  EXPECT_EQ(recording->ending()->why, "it has as many requests as were asked for");
}

TEST_F(RecordingsTest, ItEndsWithItsBytes) {
  const auto recording = Begin({.version = 0, .requests = 0, .bytes = 10});
  EXPECT_TRUE(Ask("0123456789"));
  Ask("x");
  EXPECT_TRUE(recording->Next());
  EXPECT_FALSE(recording->Next());
  EXPECT_EQ(recording->ending()->why, "the next request would have made it more than 10 bytes");
  EXPECT_EQ(recording->ending()->requests, 1);
}

TEST_F(RecordingsTest, WhatFindsNoRoomIsLostAndCounted) {
  const auto recording = Begin({.version = 0, .requests = 0, .bytes = UINT64_MAX});
  const std::string half(Recording::kMostWaitingBytes / 2, 'x');
  EXPECT_TRUE(Ask(half) && Ask(half));
  EXPECT_FALSE(Ask("x"));
  EXPECT_TRUE(recording->Next());
  EXPECT_TRUE(Ask("y")) << "the first has been taken";
  EXPECT_TRUE(recording->Next());
  EXPECT_EQ(recording->Next()->lost, 1);
  recording->End("its time is over");
  EXPECT_EQ(recording->ending()->lost, 1);
  EXPECT_EQ(recording->ending()->requests, 3);
}

TEST_F(RecordingsTest, WhatWaitsCountsForTheMemoryOfAllRequests) {
  const auto recording = Begin({.version = 0, .requests = 0, .bytes = 2 << 20});
  EXPECT_TRUE(Ask(std::string(1 << 20, 'x')));
  EXPECT_EQ(memory_.held(), 1 << 20);
  auto entry = recording->Next();
  EXPECT_EQ(memory_.held(), 1 << 20) << "it is not sent";
  entry.reset();
  EXPECT_EQ(memory_.held(), 0);
}

TEST_F(RecordingsTest, WhatTheServerHasNoMemoryForIsLost) {
  MemoryAccount all(100);
  Recordings recordings(&all);
  const auto recording = recordings.Begin("m", {.version = 0, .requests = 0, .bytes = 1 << 20}, [] {}).value();
  EXPECT_FALSE(recordings.Take("m", 1, Recording::Clock::now())->TakeRoom(1000));
  recording->End("");
  EXPECT_EQ(recording->ending()->lost, 1);
}

TEST_F(RecordingsTest, AVersionIsRecordedAlone) {
  const auto recording = Begin({.version = 2, .requests = 0, .bytes = 1 << 20});
  EXPECT_FALSE(Ask("one", "", 1));
  EXPECT_TRUE(Ask("two", "", 2));
  EXPECT_EQ(recording->Next()->version, 2);
}

TEST_F(RecordingsTest, AModelHasOneRecordingAndTheServerAFew) {
  const auto recording = Begin();
  EXPECT_TRUE(absl::IsUnavailable(recordings_.Begin("m", {}, [] {}).status()));
  for (size_t i = 1; i < Recordings::kMostRecordings; ++i) {
    EXPECT_TRUE(recordings_.Begin(std::to_string(i), {}, [] {}).ok());
  }
  EXPECT_TRUE(absl::IsUnavailable(recordings_.Begin("one more", {}, [] {}).status()));
  recordings_.Remove(recording);
  EXPECT_FALSE(Ask("nobody records it"));
  EXPECT_TRUE(recordings_.Begin("m", {}, [] {}).ok());
}

TEST_F(RecordingsTest, RequestsOfManyThreadsAreRecordedOrLost) {
  constexpr int kThreads = 4, kRequests = 500;
  std::atomic<int> changes{0};
  const auto recording =
      recordings_.Begin("m", {.version = 0, .requests = 0, .bytes = UINT64_MAX}, [&] { ++changes; }).value();
  const std::string message(200'000, 'x');
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int request = 0; request < kRequests; ++request) Ask(message);
    });
  }
  uint64_t taken = 0;
  while (taken < 100) taken += recording->Next() ? 1 : 0;
  for (std::thread& thread : threads) thread.join();
  recording->End("its time is over");
  while (recording->Next()) ++taken;
  const auto ending = recording->ending();
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->requests, taken);
  EXPECT_EQ(ending->requests + ending->lost, kThreads * kRequests);
  EXPECT_EQ(changes, static_cast<int>(taken) + 1);
  EXPECT_EQ(memory_.held(), 0);
}

TEST_F(RecordingsTest, AServerThatEndsEndsThem) {
  const auto recording = Begin();
  auto under_way = recordings_.Take("m", 1, Recording::Clock::now());
  recordings_.Stop();
  EXPECT_EQ(recording->ending()->why, "the server is shutting down");
  EXPECT_FALSE(Ask("too late"));
  EXPECT_TRUE(absl::IsUnavailable(recordings_.Begin("n", {}, [] {}).status()));
  under_way->End("", absl::OkStatus());
  EXPECT_FALSE(recording->Next());
}

}  // namespace
}  // namespace hearth::server
