// A hearth.v1.CallRequest as gRPC received it: read within bounds, without copying tensors (split_message.h), and the
// arguments that it has for a method.
#pragma once

#include <ATen/core/function_schema.h>
#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/hearth.pb.h"
#include "server/repository/servable.h"
#include "wire/raw_bytes.h"

namespace hearth::server {

// Fields of one request beside its payloads; a value takes many times its encoding.
inline constexpr size_t kMostNativeFieldBytes = 16 << 20;

struct NativeMessage {
  const v1::CallRequest* request = nullptr;  // without payloads
  std::vector<RawBytes> payloads;
};

// The request lives in `arena`. kInvalidArgument for bytes that are not such a message.
absl::StatusOr<NativeMessage> ParseCallRequest(const grpc::ByteBuffer& message, google::protobuf::Arena& arena);

// "forward" where the request names none.
std::string MethodOf(const v1::CallRequest& request);

// The arguments, against the method's schema (wire/value_from_message.h), in the one form that they have in any
// request: by name only where one before them is left out. Takes the payloads. kInvalidArgument for what does not fit.
absl::StatusOr<BoundArguments> ReadCallArguments(NativeMessage message, const c10::FunctionSchema& schema);

}  // namespace hearth::server
