#include "server/api/request_message.h"

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

// Wire types of the encoding.
constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kLengthDelimited = 2;
constexpr uint32_t kFixed32 = 5;

constexpr uint32_t kRawInputContents = inference::ModelInferRequest::kRawInputContentsFieldNumber;

// Walks bytes that lie in several slices.
class SliceCursor {
 public:
  explicit SliceCursor(const std::vector<grpc::Slice>& slices) : slices_(slices) { SkipEmpty(); }

  bool at_end() const { return slice_ == slices_.size(); }

  // Appends the varint's bytes to `copy`. False if there is none.
  bool ReadVarint(uint64_t& value, std::string& copy) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_end()) return false;
      const uint8_t byte = slices_[slice_].begin()[offset_];
      Advance(1);
      copy.push_back(static_cast<char>(byte));
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  }

  // Calls take(slice, offset, size) for the pieces of the next `size` bytes. False if there are fewer.
  template <typename Take>
  bool Read(uint64_t size, Take take) {
    while (size > 0) {
      if (at_end()) return false;
      const size_t piece = std::min<uint64_t>(size, slices_[slice_].size() - offset_);
      take(slices_[slice_], offset_, piece);
      Advance(piece);
      size -= piece;
    }
    return true;
  }

  bool Copy(uint64_t size, std::string& copy) {
    return Read(size, [&](const grpc::Slice& slice, size_t offset, size_t piece) {
      copy.append(reinterpret_cast<const char*>(slice.begin()) + offset, piece);
    });
  }

 private:
  void Advance(size_t size) {
    offset_ += size;
    SkipEmpty();
  }

  void SkipEmpty() {
    while (slice_ < slices_.size() && offset_ == slices_[slice_].size()) {
      ++slice_;
      offset_ = 0;
    }
  }

  const std::vector<grpc::Slice>& slices_;
  size_t slice_ = 0;
  size_t offset_ = 0;
};

// Parts a message into its small fields, whose encoding is put together in `fields`, and its raw contents.
bool SplitMessage(SliceCursor& cursor, std::string& fields, std::vector<RawBytes>& raw) {
  std::string tag_bytes;
  while (!cursor.at_end()) {
    tag_bytes.clear();
    uint64_t tag = 0, length = 0;
    if (!cursor.ReadVarint(tag, tag_bytes)) return false;
    const uint32_t wire_type = tag & 7;
    if (tag >> 3 == kRawInputContents && wire_type == kLengthDelimited) {
      if (!cursor.ReadVarint(length, tag_bytes)) return false;
      RawBytes& bytes = raw.emplace_back();
      bytes.size = length;
      const bool read = cursor.Read(length, [&](const grpc::Slice& slice, size_t offset, size_t size) {
        bytes.pieces.push_back({slice, offset, size});
      });
      if (!read) return false;
      continue;
    }
    fields += tag_bytes;
    switch (wire_type) {
      case kVarint:
        if (!cursor.ReadVarint(length, fields)) return false;
        break;
      case kFixed64:
        if (!cursor.Copy(8, fields)) return false;
        break;
      case kFixed32:
        if (!cursor.Copy(4, fields)) return false;
        break;
      case kLengthDelimited:
        if (!cursor.ReadVarint(length, fields) || !cursor.Copy(length, fields)) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<InferRequestMessage> ParseInferRequest(const grpc::ByteBuffer& buffer) {
  InferRequestMessage message;
  message.size = buffer.Length();
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return absl::InvalidArgumentError("the request's bytes cannot be read");
  SliceCursor cursor(slices);
  std::string fields;
  if (!SplitMessage(cursor, fields, message.raw_input_contents) || !message.fields.ParseFromString(fields)) {
    return absl::InvalidArgumentError("the request is not a ModelInferRequest");
  }
  return message;
}

absl::StatusOr<std::vector<WireTensor>> ReadInputs(const InferRequestMessage& message) {
  const auto& inputs = message.fields.inputs();
  const bool raw = !message.raw_input_contents.empty();
  if (raw && static_cast<size_t>(inputs.size()) != message.raw_input_contents.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the request has ", inputs.size(), " inputs and ",
                                                   message.raw_input_contents.size(),
                                                   " raw_input_contents; there must be one for each"));
  }
  std::vector<WireTensor> tensors;
  tensors.reserve(inputs.size());
  for (int i = 0; i < inputs.size(); ++i) {
    if (inputs[i].parameters().contains("shared_memory_region")) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", inputs[i].name(), "' lies in shared memory, which this server does not offer"));
    }
    if (raw && inputs[i].has_contents()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", inputs[i].name(), "' has typed contents in a request with raw_input_contents"));
    }
    auto tensor = raw ? ReadRaw(inputs[i], message.raw_input_contents[i]) : ReadContents(inputs[i]);
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

}  // namespace hearth::server
