#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "server/security/listening_sockets.h"
#include "server/security/open_connections.h"

namespace hearth::server {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(OpenConnections, ClosedOnesMakeRoomAlsoWhereTheirDescriptorIsUsedAgain) {
  OpenConnections connections(2);
  const int first = socket(AF_INET, SOCK_STREAM, 0);
  const int second = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_TRUE(connections.HasRoom());
  connections.Add(first);
  EXPECT_TRUE(connections.HasRoom());
  connections.Add(second);
  EXPECT_FALSE(connections.HasRoom());
  close(first);
  const int other = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(other, first);
  while (!connections.HasRoom()) std::this_thread::yield();
  close(other);
  close(second);
}

TEST(ListeningSockets, ANameListensAtAllOfItsAddressesWithOnePort) {
  const auto sockets = ListeningSockets::Open("127.0.0.1,127.0.0.2", 0);
  ASSERT_TRUE(sockets.ok()) << sockets.status();
  EXPECT_THAT(sockets->descriptors(), SizeIs(2));
  EXPECT_GT(sockets->port(), 0);
  EXPECT_TRUE(sockets->only_loopback());
  const auto localhost = ListeningSockets::Open("localhost", 0);
  ASSERT_TRUE(localhost.ok()) << localhost.status();
  EXPECT_TRUE(localhost->only_loopback());
  const auto all = ListeningSockets::Open("0.0.0.0", 0);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_FALSE(all->only_loopback());
}

TEST(ListeningSockets, WhatCannotBeHadIsSaid) {
  const auto first = ListeningSockets::Open("127.0.0.1", 0);
  const auto second = ListeningSockets::Open("127.0.0.1", first->port());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(std::to_string(first->port())));
  for (const char* host : {"", "127.0.0.1,", "no.such.host.invalid", "192.0.2.1"}) {
    EXPECT_EQ(ListeningSockets::Open(host, 0).status().code(), absl::StatusCode::kUnavailable) << host;
  }
}

}  // namespace
}  // namespace hearth::server
