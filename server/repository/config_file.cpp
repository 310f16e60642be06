#include "server/repository/config_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "server/repository/config_limits.h"
#include "server/security/text_file.h"

namespace hearth::server {

absl::StatusOr<std::optional<std::string>> ReadConfigFile(const std::filesystem::path& file) {
  struct stat entry;
  if (lstat(file.c_str(), &entry) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read ", file.string(), ": ", std::generic_category().message(errno)));
  }
  auto text = ReadTextFile(file, kMostConfigBytes);
  if (!text.ok()) return text.status();
  return *std::move(text);
}

}  // namespace hearth::server
