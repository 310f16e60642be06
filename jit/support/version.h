// The version of hearth, as people and clients are told it, and what is kept on disk belongs to.
#pragma once

namespace hearth {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace hearth
