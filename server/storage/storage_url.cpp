#include "server/storage/storage_url.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hearth::server {
namespace {

absl::Status Refuse(std::string_view url, const char* why) {
  return absl::InvalidArgumentError(
      absl::StrCat("the model repository '", std::string(url), "' ", why,
                   "; expected s3://BUCKET/PATH, s3://[https://]HOST:PORT/BUCKET/PATH or gs://BUCKET/PATH"));
}

// Letters, digits and what else names of hosts and buckets may have: nothing that means something to rclone.
bool IsName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
  });
}

bool IsPort(std::string_view port) {
  return !port.empty() && port.size() <= 5 &&
         std::ranges::all_of(port, [](unsigned char c) { return absl::ascii_isdigit(c); });
}

bool IsPath(std::string_view path) {
  if (path.empty()) return true;
  const std::vector<std::string> parts = absl::StrSplit(std::string(path), '/');
  return std::ranges::all_of(parts, [](const std::string& part) {
    return !part.empty() && part != "." && part != ".." &&
           std::ranges::none_of(part, [](unsigned char c) { return absl::ascii_iscntrl(c); });
  });
}

}  // namespace

bool IsStorageUrl(std::string_view text) {
  const size_t end = text.find("://");
  return end != 0 && end != text.npos &&
         std::ranges::all_of(text.substr(0, end), [](unsigned char c) { return absl::ascii_isalnum(c); });
}

absl::StatusOr<std::string> RcloneRemote(std::string_view url) {
  const bool is_s3 = url.starts_with("s3://");
  if (!is_s3 && !url.starts_with("gs://")) return Refuse(url, "has a scheme that is not known");
  std::string_view rest = url.substr(5);
  while (rest.ends_with('/')) rest.remove_suffix(1);

  std::string endpoint;
  if (is_s3) {
    std::string_view scheme = "http://";
    const bool has_scheme = rest.starts_with("http://") || rest.starts_with("https://");
    if (has_scheme) {
      scheme = rest.substr(0, rest.find("://") + 3);
      rest.remove_prefix(scheme.size());
    }
    const std::string_view first = rest.substr(0, rest.find('/'));
    const size_t colon = first.find(':');
    if (has_scheme || colon != first.npos) {
      const std::string_view host = first.substr(0, colon);
      if (!IsName(host) || (colon != first.npos && !IsPort(first.substr(colon + 1)))) {
        return Refuse(url, "has no HOST:PORT where one is expected");
      }
      endpoint = std::string(scheme) + std::string(first);
      rest.remove_prefix(std::min(first.size() + 1, rest.size()));
    }
  }
  const std::string_view bucket = rest.substr(0, rest.find('/'));
  if (!IsName(bucket)) return Refuse(url, "has no bucket where one is expected");
  if (!IsPath(rest.substr(std::min(bucket.size() + 1, rest.size())))) return Refuse(url, "has a path that is none");

  const std::string place(rest);
  if (!is_s3) return ":gcs:" + place;
  if (endpoint.empty()) return ":s3,env_auth=true,provider=AWS:" + place;
  return absl::StrCat(":s3,env_auth=true,provider=Other,endpoint='", endpoint, "':", place);
}

}  // namespace hearth::server
