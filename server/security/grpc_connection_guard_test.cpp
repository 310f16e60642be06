#include "server/security/grpc_connection_guard.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace hearth::server {
namespace {

// What recvmsg gives of a socket whose peer sends a line of HTTP/1.
class GrpcConnectionGuardTest : public testing::Test {
 protected:
  GrpcConnectionGuardTest() { EXPECT_TRUE(GuardGrpc(Http2Budget(), AddressRates()).ok()); }

  void Open() { ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0); }
  void Close() const {
    for (const int end : ends_) close(end);
  }

  ssize_t Receive(const std::string& text) const {
    EXPECT_EQ(send(ends_[1], text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    char first[5], second[100];
    iovec parts[] = {{first, sizeof(first)}, {second, sizeof(second)}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    return recvmsg(ends_[0], &message, 0);
  }

  static uint64_t EndedForPreface() {
    for (const auto& [reason, count] : EndedGrpcConnections()) {
      if (reason == "preface") return count;
    }
    return 0;
  }

  int ends_[2] = {-1, -1};
};

TEST_F(GrpcConnectionGuardTest, OnlyARegisteredConnectionIsEndedAndCountedOnce) {
  const uint64_t before = EndedForPreface();
  Open();
  EXPECT_EQ(Receive("GET / HTTP/1.1"), 14);
  ASSERT_TRUE(GuardConnection(ends_[0], Transport::kPlain));
  EXPECT_EQ(Receive("PRI * HT"), 8);
  EXPECT_EQ(Receive("TP/1.0"), -1);
  EXPECT_EQ(errno, ECONNRESET);
  EXPECT_EQ(EndedForPreface(), before + 1);
  // Its peer sees the end.
  char byte = 0;
  EXPECT_EQ(recv(ends_[1], &byte, 1, 0), 0);
  Close();
}

TEST_F(GrpcConnectionGuardTest, WhatCameBeforeTheEndIsNotReadAfterIt) {
  Open();
  ASSERT_TRUE(GuardConnection(ends_[0], Transport::kPlain));
  const uint64_t before = EndedForPreface();
  const std::string much(1000, 'x');
  EXPECT_EQ(Receive(much), -1);
  char byte = 0;
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  EXPECT_EQ(recvmsg(ends_[0], &message, 0), -1);
  EXPECT_EQ(EndedForPreface(), before + 1);
  Close();
}

TEST_F(GrpcConnectionGuardTest, ADescriptorThatIsUsedAgainIsAnotherConnection) {
  Open();
  const int descriptor = ends_[0];
  ASSERT_TRUE(GuardConnection(descriptor, Transport::kPlain));
  Close();
  Open();
  ASSERT_EQ(ends_[0], descriptor);
  EXPECT_EQ(Receive("GET / HTTP/1.1"), 14);
  ASSERT_TRUE(GuardConnection(descriptor, Transport::kPlain));
  EXPECT_EQ(Receive("GET / HTTP/1.1"), -1);
  Close();
}

TEST_F(GrpcConnectionGuardTest, ADescriptorBeyondTheTableIsRefused) {
  EXPECT_FALSE(GuardConnection(1 << 20, Transport::kPlain));
}

}  // namespace
}  // namespace hearth::server
