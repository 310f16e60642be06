// Text that came from outside: whether it is UTF-8, and how it is shown where only text may stand.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth {

// Well-formed as RFC 3629 has it: no overlong forms, surrogates, or characters beyond Unicode.
bool IsUtf8(std::string_view text);

// With U+FFFD in place of each byte that belongs to no character.
std::string ToUtf8(std::string text);

// For a log: control characters and what is no UTF-8 are written as \x1b; a line break is followed by "  | ", so that
// no text can look like a line of the log's own; of more than `most` bytes the rest is left out, and how much it is is
// said.
std::string ForLog(std::string_view text, size_t most);

}  // namespace hearth
