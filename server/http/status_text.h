// The words behind a status of HTTP: "Not Found" for 404.
#pragma once

#include <string_view>

namespace hearth::server {

std::string_view StatusText(int status);

}  // namespace hearth::server
