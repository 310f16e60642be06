// Who may ask for what, told by bearer tokens. The file has a line a token:
//
//   # roles        name           SHA-256 of the token, in hexadecimal digits
//   infer,read     web-frontend   2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b
//
// Of the tokens themselves nothing is kept. They are to be random: nothing slows down who tries to find a token of a
// stolen file, so one that a person made up would be found.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/security/role.h"

namespace hearth::server {

class Tokens {
 public:
  static constexpr size_t kMost = 4096;

  struct Holder {
    std::string name;
    bool infer = false;
    bool read = false;
    bool admin = false;

    bool Has(Role role) const;
  };

  // `file` is for messages. kInvalidArgument, with file and line, for what is no such line, a name or a token that is
  // there twice, more than kMost tokens, and a file without any.
  static absl::StatusOr<Tokens> Parse(std::string_view text, const std::string& file);

  // Whose token this is; null if nobody's. Takes the same time wherever in the file it stands, or if it does not.
  const Holder* Find(std::string_view token) const;

  size_t size() const { return entries_.size(); }

 private:
  using Hash = std::array<unsigned char, 32>;

  struct Entry {
    Hash hash;
    Holder holder;
  };

  std::vector<Entry> entries_;
};

}  // namespace hearth::server
