// Contents for a request that nobody wants to write by hand.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/wire_tensor.h"

namespace hearth::cli {

// Seeded: floats in [0, 1), integers in 0..9, booleans, short words. kInvalidArgument for a datatype that is unknown
// and a shape that is impossible.
absl::StatusOr<WireTensor> RandomTensor(std::string_view name, std::string_view datatype,
                                        const std::vector<int64_t>& shape, uint64_t seed);

}  // namespace hearth::cli
