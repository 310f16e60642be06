#include "server/security/client_hellos.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/hash/hash.h"

namespace hearth::server {
namespace {

constexpr char kHandshakeRecord = 22;
constexpr size_t kMessageTypeAt = 5;
constexpr char kClientHello = 1;

}  // namespace

std::optional<ClientRandom> ClientHelloReader::Read(std::string_view bytes) {
  if (read_ == start_.size()) return std::nullopt;
  const size_t taken = std::min(bytes.size(), start_.size() - read_);
  std::memcpy(start_.data() + read_, bytes.data(), taken);
  read_ += taken;
  if (read_ < start_.size() || start_[0] != kHandshakeRecord || start_[kMessageTypeAt] != kClientHello) {
    return std::nullopt;
  }
  ClientRandom random;
  std::memcpy(random.data(), start_.data() + kRandomAt, random.size());
  return random;
}

void ClientHellos::Remember(const ClientRandom& random, const sockaddr_storage& address) {
  std::lock_guard lock(mutex_);
  PlaceOf(random) = {random, address};
}

std::optional<sockaddr_storage> ClientHellos::Take(const ClientRandom& random) {
  std::lock_guard lock(mutex_);
  Entry& entry = PlaceOf(random);
  if (entry.random != random) return std::nullopt;
  return std::exchange(entry.address, std::nullopt);
}

ClientHellos::Entry& ClientHellos::PlaceOf(const ClientRandom& random) {
  return entries_[absl::HashOf(random) % kPlaces];
}

}  // namespace hearth::server
