#include "server/http/status_text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace hearth::server {
namespace {

constexpr auto kTexts = std::to_array<std::pair<int, std::string_view>>({
    {200, "OK"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Payload Too Large"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
});

}  // namespace

std::string_view StatusText(int status) {
  const auto found = std::ranges::find(kTexts, status, &std::pair<int, std::string_view>::first);
  return found == kTexts.end() ? "Unknown" : found->second;
}

}  // namespace hearth::server
