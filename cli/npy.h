// NumPy's .npy files (format versions 1 to 3) to and from the protocol's tensors. The format is described in NumPy's
// documentation (numpy.lib.format).
//
// Everything in a file is checked before it is used. Read are booleans, integers and floats of every width that the
// protocol has, in either byte order and either axis order, and strings: |S (bytes up to the zeros that pad them) and
// <U (as UTF-8), which become BYTES. Refused with a clear message: complex numbers, dates, records, and object arrays,
// which would need a pickle to be run.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "wire/wire_tensor.h"

namespace hearth::cli {

// The tensor has no name. kNotFound or kInvalidArgument, naming the file.
absl::StatusOr<WireTensor> ReadNpy(const std::string& path);
// The same from memory; messages do not name a file.
absl::StatusOr<WireTensor> ParseNpy(std::string_view file);

// Version 1, row-major, little-endian. BF16 is written as float32, which holds it exactly; BYTES as |S of the longest
// element's width.
absl::Status WriteNpy(const WireTensor& tensor, const std::string& path);
std::string FormatNpy(const WireTensor& tensor);

}  // namespace hearth::cli
