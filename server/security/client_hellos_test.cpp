#include "server/security/client_hellos.h"

#include <gtest/gtest.h>

#include <string>

namespace hearth::server {
namespace {

ClientRandom RandomOf(unsigned char first) {
  ClientRandom random = {};
  random.front() = first;
  random.back() = 7;
  return random;
}

// The begin of a connection whose client speaks TLS.
std::string HelloOf(const ClientRandom& random) {
  std::string hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  hello.append(random.begin(), random.end());
  return hello + "the rest";
}

sockaddr_storage OfFamily(sa_family_t family) {
  sockaddr_storage address{};
  address.ss_family = family;
  return address;
}

TEST(ClientHelloReader, GivesTheRandomBytesOnceWhereverTheMessageIsCut) {
  const std::string hello = HelloOf(RandomOf(200));
  for (size_t cut = 0; cut <= hello.size(); ++cut) {
    ClientHelloReader reader;
    const auto first = reader.Read(hello.substr(0, cut));
    const auto second = reader.Read(hello.substr(cut));
    EXPECT_NE(first.has_value(), second.has_value()) << cut;
    EXPECT_EQ(first.has_value() ? first : second, RandomOf(200)) << cut;
    EXPECT_FALSE(reader.Read(hello).has_value());
  }
}

TEST(ClientHelloReader, GivesNothingOfAnotherProtocol) {
  const std::string hello = HelloOf(RandomOf(1));
  for (const size_t place : {0, 5}) {
    std::string other = hello;
    other[place] = 'x';
    EXPECT_FALSE(ClientHelloReader().Read(other).has_value());
  }
  EXPECT_FALSE(ClientHelloReader().Read(hello.substr(0, 42)).has_value());
  EXPECT_FALSE(ClientHelloReader().Read("").has_value());
}

TEST(ClientHellos, AnAddressIsTakenOnceByItsBytes) {
  ClientHellos hellos;
  EXPECT_FALSE(hellos.Take(ClientRandom()).has_value());
  hellos.Remember(RandomOf(1), OfFamily(AF_INET));
  hellos.Remember(RandomOf(2), OfFamily(AF_INET6));
  EXPECT_FALSE(hellos.Take(RandomOf(3)).has_value());
  EXPECT_EQ(hellos.Take(RandomOf(1))->ss_family, AF_INET);
  EXPECT_FALSE(hellos.Take(RandomOf(1)).has_value());
  EXPECT_EQ(hellos.Take(RandomOf(2))->ss_family, AF_INET6);
}

TEST(ClientHellos, MoreThanThereArePlacesTakeThoseOfOthers) {
  ClientHellos hellos;
  const auto numbered = [](size_t number) {
    ClientRandom random = {};
    random[0] = static_cast<unsigned char>(number);
    random[1] = static_cast<unsigned char>(number >> 8);
    return random;
  };
  const size_t count = 4 * ClientHellos::kPlaces;
  for (size_t i = 0; i < count; ++i) hellos.Remember(numbered(i), OfFamily(AF_INET));
  size_t known = 0;
  for (size_t i = 0; i < count; ++i) known += hellos.Take(numbered(i)).has_value() ? 1 : 0;
  EXPECT_GT(known, ClientHellos::kPlaces / 2);
  EXPECT_LE(known, ClientHellos::kPlaces);
}

}  // namespace
}  // namespace hearth::server
