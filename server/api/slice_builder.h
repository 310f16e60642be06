// Puts a message together from parts, of Protobuf or of plain bytes: small ones are copied, large ones are referred to
// where they lie, and both are sent without another copy. Of Protobuf, concatenated encodings of a message are the
// encoding of the whole, so a client sees nothing unusual. Fields are written as protobuf.dev, "Encoding" says.
#pragma once

#include <ATen/core/Tensor.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::server {

// Appends fields to a message's encoding. Defaults (empty texts, false) are left out, as Protobuf leaves them out.
void AppendText(std::string& out, uint32_t field, std::string_view text);
// The head of a field whose value, of `size` bytes, follows.
void AppendHead(std::string& out, uint32_t field, uint64_t size);
void AppendPackedVarints(std::string& out, uint32_t field, const std::vector<int64_t>& numbers);

class SliceBuilder {
 public:
  // Fewer bytes are copied next to what precedes them: a slice of its own costs more than that.
  static constexpr size_t kCopiedBelow = 4096;

  SliceBuilder() { text_.reserve(kUsualHeader); }

  // What is appended here comes before what is added next.
  std::string& text() { return text_; }

  // The tensor's bytes, which must be contiguous, on the CPU, and not change any more.
  void Add(at::Tensor tensor);
  void Add(std::string bytes);
  void Add(grpc::Slice bytes);
  // The same as the value of a field.
  void AddBytes(uint32_t field, at::Tensor tensor);
  void AddBytes(uint32_t field, std::string bytes);
  void AddBytes(uint32_t field, const grpc::ByteBuffer& bytes);

  // The message. Nothing may be added after either of these.
  grpc::ByteBuffer Take();
  // The message as the value of a field of another one.
  grpc::ByteBuffer TakeAsField(uint32_t field);

 private:
  static constexpr size_t kUsualHeader = 512;

  void FlushText();

  std::string text_;
  std::vector<grpc::Slice> slices_;
};

}  // namespace hearth::server
