#include "server/security/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hearth::server {
namespace {

constexpr size_t kLongestName = 128;

bool IsName(const std::string& name) {
  return name.size() <= kLongestName && std::ranges::all_of(name, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

bool IsHash(const std::string& text) {
  return text.size() == size_t{2} * SHA256_DIGEST_LENGTH &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

absl::Status SetRoles(const std::string& names, Tokens::Holder& holder) {
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(names, ','))) {
    const auto role = RoleNamed(name);
    if (!role) return absl::InvalidArgumentError("the roles are infer, read and admin, with commas between them");
    holder.infer |= role == Role::kInfer;
    holder.read |= role == Role::kRead;
    holder.admin |= role == Role::kAdmin;
  }
  return absl::OkStatus();
}

}  // namespace

bool Tokens::Holder::Has(Role role) const {
  switch (role) {
    case Role::kAnyone:
      return true;
    case Role::kInfer:
      return infer;
    case Role::kRead:
      return read;
    case Role::kAdmin:
      return admin;
  }
  return false;
}

absl::StatusOr<Tokens> Tokens::Parse(std::string_view text, const std::string& file) {
  Tokens tokens;
  std::set<std::string> names;
  std::set<Hash> hashes;
  size_t number = 0;
  while (!text.empty()) {
    const std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++number;
    // Never the line itself: somebody may have put a token where its hash belongs.
    const auto wrong = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat(file, ":", number, ": ", what));
    };
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty() || words[0].front() == '#') continue;
    if (words.size() != 3) return wrong(absl::StrCat("a line has roles, name and hash, not ", words.size(), " words"));
    Entry entry;
    if (absl::Status status = SetRoles(words[0], entry.holder); !status.ok()) return wrong(status.message());
    if (!IsName(words[1])) return wrong("a name has up to 128 printable characters of ASCII");
    if (!IsHash(words[2])) return wrong("the last word is not the 64 hexadecimal digits of a SHA-256");
    const std::string bytes = absl::HexStringToBytes(words[2]);
    std::ranges::copy(bytes, entry.hash.begin());
    entry.holder.name = words[1];
    if (!names.insert(words[1]).second) return wrong(absl::StrCat("the name ", words[1], " is there already"));
    if (!hashes.insert(entry.hash).second) return wrong("the token is there already");
    tokens.entries_.push_back(std::move(entry));
    if (tokens.entries_.size() > kMost) return wrong(absl::StrCat("there may be ", kMost, " tokens, not more"));
  }
  if (tokens.entries_.empty()) return absl::InvalidArgumentError(absl::StrCat(file, " has no token"));
  return tokens;
}

const Tokens::Holder* Tokens::Find(std::string_view token) const {
  Hash hash;
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  const Holder* found = nullptr;
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.hash.data(), hash.data(), hash.size()) == 0) found = &entry.holder;
  }
  return found;
}

}  // namespace hearth::server
