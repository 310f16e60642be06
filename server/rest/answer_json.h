// Writes the JSON of an inference's answer, and puts it together with the contents that are sent in binary form.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/api/response_message.h"

namespace hearth::server {

struct JsonAnswer {
  grpc::ByteBuffer body;  // the JSON, then the contents of binary outputs in their order
  size_t json_size = 0;
  bool has_binary = false;  // any bytes behind the JSON
};

// `binary` says of each output whether its contents are sent in binary form. Large contents are referred to, not
// copied. kInvalidArgument for contents that JSON cannot carry: FP16, BF16, and elements of BYTES that are not UTF-8.
// NaN and infinities are written as NaN, Infinity and -Infinity.
absl::StatusOr<JsonAnswer> EncodeJsonAnswer(const AnswerHeader& header, std::vector<AnswerOutput> outputs,
                                            const std::vector<bool>& binary);

}  // namespace hearth::server
