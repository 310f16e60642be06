// The wire types of Protobuf's encoding: the low three bits of a field's tag.
// https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <cstdint>

namespace hearth::server {

inline constexpr uint32_t kVarint = 0;
inline constexpr uint32_t kFixed64 = 1;
inline constexpr uint32_t kLengthDelimited = 2;
inline constexpr uint32_t kFixed32 = 5;

}  // namespace hearth::server
