#include "server/security/http2_frame_guard.h"

#include <gtest/gtest.h>

#include <string>

namespace hearth::server {
namespace {

using Violation = Http2FrameGuard::Violation;
using TimePoint = Http2FrameGuard::TimePoint;

constexpr uint8_t kData = 0, kHeaders = 1, kPriority = 2, kReset = 3, kSettings = 4, kPing = 6, kWindowUpdate = 8,
                  kContinuation = 9;
constexpr uint8_t kEndStream = 1, kEndHeaders = 4;
const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string Frame(uint8_t type, uint8_t flags, uint32_t stream, size_t length) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(length >> shift);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift);
  return frame + std::string(length, 'x');
}

std::string Repeated(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// Ten control frames and five resets at once, and as many a second.
constexpr Http2Budget kBudget{.control_frames = {10, 10, 10}, .resets = {5, 5, 5}};

struct GuardedClient {
  Violation Read(const std::string& bytes) {
    return guard.Read(bytes, now, [this] { return sent; });
  }

  TimePoint now{};
  uint64_t sent = 0;
  Http2FrameGuard guard{kBudget, nullptr, now};
};

// Of a client that sends these frames after the preface, all at once and cut at every place.
Violation OfAll(const std::string& frames) {
  const std::string bytes = kPreface + frames;
  const Violation whole = GuardedClient().Read(bytes);
  for (size_t cut = 0; cut <= bytes.size(); cut += bytes.size() < 2000 ? 1 : 97) {
    GuardedClient parts;
    parts.Read(bytes.substr(0, cut));
    EXPECT_EQ(parts.Read(bytes.substr(cut)), whole) << cut;
  }
  GuardedClient bytewise;
  for (const char byte : bytes) bytewise.Read(std::string(1, byte));
  EXPECT_EQ(bytewise.guard.violation(), whole);
  return whole;
}

TEST(Http2FrameGuard, AnotherProtocolIsSeenAtTheFirstByteThatDiffers) {
  GuardedClient client;
  EXPECT_EQ(client.Read("PRI * HTTP/2.0\r\n"), Violation::kNone);
  EXPECT_EQ(client.Read("\r\nXM"), Violation::kPreface);
  EXPECT_EQ(GuardedClient().Read("GET / HTTP/1.1\r\n"), Violation::kPreface);
}

TEST(Http2FrameGuard, CallsCostNothing) {
  std::string calls;
  for (uint32_t stream = 1; stream < 2000; stream += 2) {
    calls += Frame(kHeaders, kEndHeaders, stream, 40) + Frame(kData, 0, stream, 16) +
             Frame(kData, kEndStream, stream, stream % 4 == 1 ? 0 : 900);
  }
  EXPECT_EQ(OfAll(calls), Violation::kNone);
}

TEST(Http2FrameGuard, FramesWithoutContentAreBounded) {
  const std::string call = Frame(kHeaders, kEndHeaders, 1, 40);
  const std::string frames[] = {Frame(kSettings, 0, 0, 0),
                                Frame(kPing, 0, 0, 8),
                                Frame(kPriority, 0, 1, 5),
                                Frame(kData, 0, 1, 0),
                                Frame(kData, 0, 1, 15),
                                Frame(kWindowUpdate, 0, 1, 4),
                                Frame(kContinuation, 0, 1, 0),
                                Frame(0x77, 0, 1, 100),
                                Frame(kHeaders, kEndHeaders, 1, 40),
                                Frame(kHeaders, kEndHeaders, 2, 40)};
  for (const std::string& frame : frames) {
    EXPECT_EQ(OfAll(call + Repeated(10, frame)), Violation::kNone) << int{frame[3]};
    EXPECT_EQ(OfAll(call + Repeated(11, frame)), Violation::kControlFrames) << int{frame[3]};
  }
}

TEST(Http2FrameGuard, ResetsAreBoundedByThemselves) {
  std::string calls;
  for (uint32_t stream = 1; stream <= 9; stream += 2) {
    calls += Frame(kHeaders, kEndHeaders, stream, 40) + Frame(kReset, 0, stream, 4);
  }
  EXPECT_EQ(OfAll(Repeated(10, Frame(kPing, 0, 0, 8)) + calls), Violation::kNone);
  EXPECT_EQ(OfAll(calls + Frame(kReset, 0, 9, 4)), Violation::kResets);
}

TEST(Http2FrameGuard, ResetsOfAllConnectionsOfAnAddressAreBounded) {
  const TimePoint now{};
  AddressBudget address({.control_frames = {}, .resets = {8, 8, 8}}, now);
  Http2FrameGuard one(kBudget, &address, now), other(kBudget, &address, now);
  const auto sent = [] { return uint64_t{0}; };
  const std::string reset = Frame(kReset, 0, 1, 4);
  EXPECT_EQ(one.Read(kPreface + Repeated(4, reset), now, sent), Violation::kNone);
  EXPECT_EQ(other.Read(kPreface + Repeated(4, reset), now, sent), Violation::kNone);
  EXPECT_EQ(other.Read(reset, now, sent), Violation::kAddress);
  EXPECT_EQ(one.Read(reset, now + std::chrono::milliseconds(126), sent), Violation::kNone);
}

TEST(Http2FrameGuard, FramesWithoutContentOfAllConnectionsOfAnAddressAreBounded) {
  const TimePoint now{};
  const Http2Budget budget{.control_frames = {100, 0, 100}, .resets = {}};
  AddressBudget address({.control_frames = {20, 0, 20}, .resets = {}}, now);
  Http2FrameGuard one(budget, &address, now), other(budget, &address, now);
  const auto sent = [] { return uint64_t{0}; };
  const std::string ping = Frame(kPing, 0, 0, 8);
  EXPECT_EQ(one.Read(kPreface + Repeated(20, ping), now, sent), Violation::kNone);
  EXPECT_EQ(other.Read(kPreface + Repeated(16, ping), now, sent), Violation::kNone);
  EXPECT_EQ(other.Read(ping, now, sent), Violation::kAddress);
}

TEST(Http2FrameGuard, AConnectionThatSendsLittleIsNotEndedForOthersOfItsAddress) {
  TimePoint now{};
  const Http2Budget budget{.control_frames = {100, 100, 100}, .resets = {5, 5, 5}};
  AddressBudget nothing({}, now);
  Http2FrameGuard guard(budget, &nothing, now);
  uint64_t sent = 0;
  const auto read = [&](const std::string& bytes) { return guard.Read(bytes, now, [&] { return sent; }); };
  const std::string ping = Frame(kPing, 0, 0, 8);
  const std::string reset = Frame(kReset, 0, 1, 4);
  EXPECT_EQ(read(kPreface + Repeated(8, ping)), Violation::kNone);
  now += std::chrono::milliseconds(301);
  EXPECT_EQ(read(Repeated(3, ping + reset)), Violation::kNone);
  // What goes with calls, and with what was sent.
  EXPECT_EQ(read(Frame(kHeaders, kEndHeaders, 1, 40) + Repeated(3, ping)), Violation::kNone);
  sent = 512 * 5;
  EXPECT_EQ(read(Repeated(5, ping)), Violation::kNone);
  EXPECT_EQ(read(ping), Violation::kAddress);
}

TEST(Http2FrameGuard, BudgetsComeBackWithTime) {
  GuardedClient client;
  const std::string pings = Repeated(10, Frame(kPing, 0, 0, 8));
  const std::string resets = Repeated(5, Frame(kReset, 0, 1, 4));
  EXPECT_EQ(client.Read(kPreface + pings + resets), Violation::kNone);
  client.now += std::chrono::seconds(100);  // no more than at once
  EXPECT_EQ(client.Read(pings + resets), Violation::kNone);
  client.now += std::chrono::milliseconds(501);
  EXPECT_EQ(client.Read(Repeated(5, Frame(kPing, 0, 0, 8))), Violation::kNone);
  EXPECT_EQ(client.Read(Frame(kPing, 0, 0, 8)), Violation::kControlFrames);
}

TEST(Http2FrameGuard, WhoIsSentMuchMaySendAWindowUpdateForEachPart) {
  GuardedClient client;
  EXPECT_EQ(client.Read(kPreface), Violation::kNone);
  for (int i = 0; i < 100; ++i) {
    client.sent += 512 * 10;
    EXPECT_EQ(client.Read(Repeated(10, Frame(kWindowUpdate, 0, 0, 4))), Violation::kNone);
  }
  EXPECT_EQ(client.Read(Repeated(10, Frame(kWindowUpdate, 0, 0, 4))), Violation::kControlFrames);
}

TEST(Http2FrameGuard, AHeaderBlockIsBoundedInBytesAndFrames) {
  GuardedClient client;
  const std::string head = Frame(kHeaders, 0, 1, 16 << 10);
  const std::string more = Frame(kContinuation, 0, 1, 16 << 10);
  EXPECT_EQ(client.Read(kPreface + head + Repeated(7, more)), Violation::kNone);
  EXPECT_EQ(client.Read(Frame(kContinuation, kEndHeaders, 1, 1)), Violation::kHeaderBlock);
  EXPECT_EQ(OfAll(Frame(kHeaders, kEndHeaders, 1, (128 << 10) + 1)), Violation::kHeaderBlock);

  Http2FrameGuard roomy({.control_frames = {100, 1, 100}, .resets = {}}, nullptr, client.now);
  const auto sent = [] { return uint64_t{0}; };
  const std::string small = Repeated(15, Frame(kContinuation, 0, 1, 1));
  EXPECT_EQ(roomy.Read(kPreface + Frame(kHeaders, 0, 1, 1) + small, client.now, sent), Violation::kNone);
  // Each block has its own bound.
  EXPECT_EQ(roomy.Read(Frame(kHeaders, 0, 3, 1) + small, client.now, sent), Violation::kNone);
  EXPECT_EQ(roomy.Read(Frame(kContinuation, kEndHeaders, 3, 1), client.now, sent), Violation::kHeaderBlock);
}

TEST(Http2FrameGuard, AViolationStays) {
  GuardedClient client;
  EXPECT_EQ(client.Read(kPreface + Repeated(6, Frame(kReset, 0, 1, 4))), Violation::kResets);
  client.now += std::chrono::seconds(100);
  EXPECT_EQ(client.Read(Frame(kPing, 0, 0, 8)), Violation::kResets);
}

}  // namespace
}  // namespace hearth::server
