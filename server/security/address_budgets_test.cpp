#include "server/security/address_budgets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <set>
#include <string>

namespace hearth::server {
namespace {

constexpr TokenBucket::TimePoint kStart{};

sockaddr_storage AddressOf(const std::string& text, uint16_t port = 1) {
  sockaddr_storage address{};
  auto& six = reinterpret_cast<sockaddr_in6&>(address);
  auto& four = reinterpret_cast<sockaddr_in&>(address);
  if (inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
  } else {
    EXPECT_EQ(inet_pton(AF_INET, text.c_str(), &four.sin_addr), 1);
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
  }
  return address;
}

TEST(AddressBudgets, TokensComeBackWithTime) {
  AddressBudget budget({.control_frames = {}, .resets = {2, 4, 2}}, kStart);
  EXPECT_TRUE(budget.TakeReset(kStart));
  EXPECT_TRUE(budget.TakeReset(kStart));
  EXPECT_FALSE(budget.TakeReset(kStart));
  EXPECT_TRUE(budget.TakeReset(kStart + std::chrono::milliseconds(251)));
}

TEST(AddressBudgets, FramesAndResetsAreBoundedByThemselves) {
  AddressBudget budget({.control_frames = {1, 0, 1}, .resets = {1, 0, 1}}, kStart);
  EXPECT_TRUE(budget.TakeControlFrame(kStart));
  EXPECT_FALSE(budget.TakeControlFrame(kStart));
  EXPECT_TRUE(budget.TakeReset(kStart));
  EXPECT_FALSE(budget.TakeReset(kStart));
}

TEST(AddressBudgets, AnAddressHasOneBudgetWhateverItsPort) {
  AddressBudgets budgets({}, kStart);
  EXPECT_EQ(&budgets.Of(AddressOf("10.0.0.1")), &budgets.Of(AddressOf("10.0.0.1", 2)));
  EXPECT_EQ(&budgets.Of(AddressOf("10.0.0.1")), &budgets.Of(AddressOf("::ffff:10.0.0.1", 3)));
  EXPECT_EQ(&budgets.Of(AddressOf("2001:db8:1:2::1")), &budgets.Of(AddressOf("2001:db8:1:2:ffff::7777", 4)));
}

TEST(AddressBudgets, MostAddressesHaveBudgetsOfTheirOwn) {
  AddressBudgets budgets({}, kStart);
  std::set<const AddressBudget*> seen;
  for (int i = 0; i < 100; ++i) seen.insert(&budgets.Of(AddressOf("10.0.0." + std::to_string(i))));
  for (int i = 0; i < 100; ++i) seen.insert(&budgets.Of(AddressOf("2001:db8:" + std::to_string(i) + "::1")));
  EXPECT_GT(seen.size(), 150U);
}

}  // namespace
}  // namespace hearth::server
