// What strangers and a file of tokens say of a request: a line with a method and a path, a line with a token, and
// behind them the file.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/security/method_roles.h"
#include "server/security/tokens.h"

namespace {

std::string_view TakeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using hearth::server::Role;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view request = TakeLine(text);
  const std::string_view authorization = TakeLine(text);
  const std::string_view method = request.substr(0, request.find(' '));
  const std::string_view path = request.substr(std::min(request.size(), method.size() + 1));
  (void)hearth::server::RoleOfMethod(path);
  const auto role = hearth::server::RoleOfRoute(method, path);

  const auto tokens = hearth::server::Tokens::Parse(text, "tokens");
  if (!tokens.ok()) return 0;
  if (tokens->size() == 0) std::abort();
  const auto* holder = tokens->Find(authorization);
  if (holder != nullptr && holder->name.empty()) std::abort();
  if (holder != nullptr && role == Role::kAnyone && !holder->Has(*role)) std::abort();
  return 0;
}
