#include "server/security/address_budgets.h"

#include <netinet/in.h>

#include <string_view>

#include "absl/hash/hash.h"

namespace hearth::server {
namespace {

constexpr size_t kPrefixBytes = 8;
constexpr size_t kMappedBytes = 12;  // before the address of IPv4 that one of IPv6 stands for

// The bytes that tell one client from another.
std::string_view PrefixOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    return {reinterpret_cast<const char*>(&four.sin_addr), sizeof(four.sin_addr)};
  }
  if (address.ss_family != AF_INET6) return {};
  const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  const auto* const bytes = reinterpret_cast<const char*>(&six);
  if (IN6_IS_ADDR_V4MAPPED(&six)) return {bytes + kMappedBytes, sizeof(six) - kMappedBytes};
  return {bytes, kPrefixBytes};
}

}  // namespace

bool AddressBudget::TakeControlFrame(TokenBucket::TimePoint now) {
  std::lock_guard lock(mutex_);
  return control_frames_.Take(now);
}

bool AddressBudget::TakeReset(TokenBucket::TimePoint now) {
  std::lock_guard lock(mutex_);
  return resets_.Take(now);
}

AddressBudgets::AddressBudgets(const AddressRates& rates, TokenBucket::TimePoint now) {
  budgets_.reserve(kBudgets);
  for (size_t i = 0; i < kBudgets; ++i) budgets_.push_back(std::make_unique<AddressBudget>(rates, now));
}

AddressBudget& AddressBudgets::Of(const sockaddr_storage& address) {
  return *budgets_[absl::HashOf(PrefixOf(address)) % kBudgets];
}

}  // namespace hearth::server
