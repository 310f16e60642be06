// Content codings of HTTP (RFC 9110): gzip and deflate, over zlib (server/api/inflate.h). Both directions work in
// bounded steps, and what they make counts for the memory account on the thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hearth::server {

enum class ContentCoding : uint8_t { kIdentity, kGzip, kDeflate };

// "gzip", "deflate"; empty for identity.
const char* NameOf(ContentCoding coding);

// What a Content-Encoding header says, if it is one of these.
std::optional<ContentCoding> ParseContentCoding(std::string_view header);

// The coding that an Accept-Encoding header prefers among these, the first of those with the same weight.
ContentCoding PreferredCoding(std::string_view accepted);

// Not for kIdentity. kInvalidArgument for bytes that are not so encoded; kOutOfRange as soon as more than `most` bytes
// come out.
absl::StatusOr<grpc::Slice> Decode(ContentCoding coding, const grpc::Slice& bytes, size_t most);

// Not for kIdentity. Fast rather than small.
grpc::ByteBuffer Encode(ContentCoding coding, const grpc::ByteBuffer& bytes);

}  // namespace hearth::server
