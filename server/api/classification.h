// The classification extension: the largest elements of an output, as texts, in place of the output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

// The `classes` largest elements of `output`, or of each of its batch's entries if `batched`, in descending order
// (equal ones in the order of their indices, NaN last): BYTES "VALUE:INDEX", or "VALUE:INDEX:LABEL" where `labels`,
// which may be null, have one that is not empty. The shape is [classes], or [batch, classes], with no more classes than
// there are elements. kInvalidArgument for a datatype that is no number.
absl::StatusOr<WireTensor> Classify(const WireTensor& output, int64_t classes, bool batched,
                                    const std::vector<std::string>* labels);

}  // namespace hearth::server
