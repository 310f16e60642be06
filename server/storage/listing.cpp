#include "server/storage/listing.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

namespace hearth::server {
namespace {

constexpr size_t kLongestPart = 255;  // as file systems have it

// Hidden parts are the mirror's own, and no part of a model.
bool MayLieInFolder(const std::string& path) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  return std::ranges::all_of(parts, [](const std::string& part) {
    return !part.empty() && part.size() <= kLongestPart && part.front() != '.' &&
           std::ranges::none_of(part, [](unsigned char c) { return absl::ascii_iscntrl(c); });
  });
}

bool IsSize(const nlohmann::json& value) { return value.is_number_integer() && value >= 0 && value <= INT64_MAX; }

absl::StatusOr<nlohmann::json> ReadArray(std::string_view json) {
  nlohmann::json read = nlohmann::json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!read.is_array()) return absl::InvalidArgumentError("the listing is no JSON array");
  return read;
}

// Null where the entry has no such member.
nlohmann::json MemberOf(const nlohmann::json& entry, const char* name) {
  return entry.is_object() && entry.contains(name) ? entry[name] : nlohmann::json();
}

}  // namespace

absl::StatusOr<Listing> ReadListing(std::string_view json) {
  const auto read = ReadArray(json);
  if (!read.ok()) return read.status();
  Listing listing;
  for (size_t i = 0; i < read->size(); ++i) {
    const nlohmann::json& entry = (*read)[i];
    const auto path = MemberOf(entry, "Path"), size = MemberOf(entry, "Size"), time = MemberOf(entry, "ModTime");
    absl::Time changed;
    std::string error;
    if (!path.is_string() || !IsSize(size) || !time.is_string() ||
        !absl::ParseTime(absl::RFC3339_full, time.get_ref<const std::string&>(), &changed, &error)) {
      return absl::InvalidArgumentError(absl::StrCat("entry ", i, " of the listing lacks a Path, a Size or a ModTime"));
    }
    if (!MayLieInFolder(path.get_ref<const std::string&>())) continue;
    // In bounds also for times that no clock shows.
    const int64_t nanoseconds = absl::ToUnixNanos(changed);
    listing[path.get<std::string>()] = {
        size.get<int64_t>(), std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(nanoseconds))};
  }
  return listing;
}

absl::StatusOr<std::vector<std::string>> ReadFolders(std::string_view json) {
  const auto read = ReadArray(json);
  if (!read.ok()) return read.status();
  std::vector<std::string> folders;
  for (size_t i = 0; i < read->size(); ++i) {
    const auto path = MemberOf((*read)[i], "Path");
    if (!path.is_string()) return absl::InvalidArgumentError(absl::StrCat("entry ", i, " of the listing lacks a Path"));
    if (MayLieInFolder(path.get_ref<const std::string&>())) folders.push_back(path.get<std::string>());
  }
  return folders;
}

}  // namespace hearth::server
