// TorchScript's values to those of the protocol hearth.v1. What has no form there is refused: quantized, sparse, nested
// and other tensors that are not dense, modules, classes of C++, futures, generators, streams, strings that are not
// UTF-8.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <vector>

#include "absl/status/statusor.h"
#include "proto/hearth.pb.h"

namespace hearth {

// Writes `value` to `message`. Tensors are appended to `payloads`, whose places the message names; they are as the
// value has them, see ReadyToSend. kInvalidArgument, naming the part and its type, for what has no form, and beyond the
// bounds of ValueReader; `message` is of no use then.
absl::Status ValueToMessage(const c10::IValue& value, const std::string& name, v1::Value& message,
                            std::vector<at::Tensor>& payloads);

}  // namespace hearth
