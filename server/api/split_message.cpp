#include "server/api/split_message.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/api/wire_types.h"

namespace hearth::server {
namespace {

// Walks bytes that lie in several slices.
class SliceCursor {
 public:
  explicit SliceCursor(const std::vector<grpc::Slice>& slices) : slices_(slices) { EnterSlice(); }

  bool at_end() const { return at_ == end_; }

  // False if there is no varint.
  bool ReadVarint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_end()) return false;
      const uint8_t byte = *at_;
      Advance(1);
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
      const auto piece = static_cast<size_t>(std::min<uint64_t>(size, end_ - at_));
      take(slices_[slice_], static_cast<size_t>(at_ - slices_[slice_].begin()), piece);
      Advance(piece);
      size -= piece;
    }
    return true;
  }

  // Calls take(text) for the pieces between an earlier cursor over the same slices and this one.
  template <typename Take>
  void From(const SliceCursor& earlier, Take take) const {
    const uint8_t* begin = earlier.at_;
    for (size_t slice = earlier.slice_; slice < slices_.size() && slice <= slice_; ++slice) {
      if (slice > earlier.slice_) begin = slices_[slice].begin();
      const uint8_t* end = slice == slice_ ? at_ : slices_[slice].end();
      if (begin != end) take(std::string_view(reinterpret_cast<const char*>(begin), end - begin));
    }
  }

 private:
  void Advance(size_t size) {
    at_ += size;
    if (at_ != end_) return;
    ++slice_;
    EnterSlice();
  }

  // To the first byte that is left.
  void EnterSlice() {
    while (slice_ < slices_.size() && slices_[slice_].size() == 0) ++slice_;
    at_ = slice_ < slices_.size() ? slices_[slice_].begin() : nullptr;
    end_ = slice_ < slices_.size() ? slices_[slice_].end() : nullptr;
  }

  const std::vector<grpc::Slice>& slices_;
  size_t slice_ = 0;
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
};

bool SkipValue(SliceCursor& cursor, uint32_t wire_type) {
  constexpr auto pass = [](const grpc::Slice&, size_t, size_t) {};
  uint64_t number = 0;
  switch (wire_type) {
    case kVarint:
      return cursor.ReadVarint(number);
    case kFixed64:
      return cursor.Read(8, pass);
    case kFixed32:
      return cursor.Read(4, pass);
    case kLengthDelimited:
      return cursor.ReadVarint(number) && cursor.Read(number, pass);
    default:
      return false;
  }
}

absl::Status NoMessage() { return absl::InvalidArgumentError("the bytes are no Protobuf message"); }

// Counts what is left of the stream. False if it is no message of the type.
bool CountIn(google::protobuf::io::CodedInputStream& stream, const google::protobuf::Descriptor& type,
             SplitMessage::Parts& parts) {
  using google::protobuf::FieldDescriptor;
  while (const uint32_t tag = stream.ReadTag()) {
    const uint32_t wire_type = tag & 7;
    uint64_t number = 0;
    uint32_t length = 0;
    if (wire_type == kVarint) {
      if (!stream.ReadVarint64(&number)) return false;
    } else if (wire_type == kFixed64 || wire_type == kFixed32) {
      if (!stream.Skip(wire_type == kFixed64 ? 8 : 4)) return false;
    } else if (wire_type == kLengthDelimited) {
      if (!stream.ReadVarint32(&length)) return false;
      const FieldDescriptor* const field = type.FindFieldByNumber(static_cast<int>(tag >> 3));
      if (field == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        parts.texts += field == nullptr || field->cpp_type() == FieldDescriptor::CPPTYPE_STRING ? 1 : 0;
        if (!stream.Skip(static_cast<int>(std::min<uint32_t>(length, INT32_MAX)))) return false;
        continue;
      }
      ++parts.messages;
      const auto limits = stream.IncrementRecursionDepthAndPushLimit(static_cast<int>(length));
      if (limits.second < 0 || !CountIn(stream, *field->message_type(), parts)) return false;
      if (!stream.DecrementRecursionDepthAndPopLimit(limits.first)) return false;
    } else {
      return false;
    }
  }
  return stream.ConsumedEntireMessage();
}

}  // namespace

absl::StatusOr<SplitMessage> SplitMessage::Of(const grpc::ByteBuffer& buffer, uint32_t raw_field) {
  SplitMessage message;
  message.slices_.resize(1);
  if (!buffer.TrySingleSlice(&message.slices_[0]).ok()) {
    message.slices_.clear();
    if (!buffer.Dump(&message.slices_).ok()) return NoMessage();
  }
  const auto keep = [&](std::string_view piece) {
    if (!message.rest_.empty() && message.rest_.back().end() == piece.begin()) {
      std::string_view& last = message.rest_.back();
      last = std::string_view(last.data(), last.size() + piece.size());
    } else {
      message.rest_.push_back(piece);
    }
  };
  SliceCursor cursor(message.slices_);
  while (!cursor.at_end()) {
    const SliceCursor start = cursor;
    uint64_t tag = 0;
    if (!cursor.ReadVarint(tag)) return NoMessage();
    const uint32_t wire_type = tag & 7;
    if (tag >> 3 != raw_field || wire_type != kLengthDelimited) {
      if (!SkipValue(cursor, wire_type)) return NoMessage();
      cursor.From(start, keep);
      continue;
    }
    if (message.raw_.size() == kMostRaw) {
      return absl::InvalidArgumentError(absl::StrCat("the request has more than ", kMostRaw, " contents of tensors"));
    }
    RawBytes& bytes = message.raw_.emplace_back();
    if (!cursor.ReadVarint(bytes.size)) return NoMessage();
    const bool read = cursor.Read(bytes.size, [&](const grpc::Slice& slice, size_t offset, size_t size) {
      bytes.pieces.push_back({slice, offset, size});
    });
    if (!read) return NoMessage();
  }
  return message;
}

size_t SplitMessage::rest_size() const {
  size_t size = 0;
  for (const std::string_view piece : rest_) size += piece.size();
  return size;
}

std::string_view SplitMessage::Rest() {
  if (rest_.size() == 1) return rest_[0];
  if (joined_.empty()) {
    joined_.reserve(rest_size());
    for (const std::string_view piece : rest_) joined_ += piece;
  }
  return joined_;
}

bool SplitMessage::ParseRest(google::protobuf::MessageLite& message) {
  const std::string_view rest = Rest();
  return message.ParsePartialFromArray(rest.data(), static_cast<int>(rest.size()));
}

absl::Status SplitMessage::CheckParts(const google::protobuf::Descriptor& type, const Parts& most) {
  // The least of either has two bytes.
  if (rest_size() / 2 <= std::min(most.messages, most.texts)) return absl::OkStatus();
  const std::string_view rest = Rest();
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(rest.data()),
                                                static_cast<int>(rest.size()));
  Parts parts;
  if (!CountIn(stream, type, parts)) return NoMessage();
  if (parts.messages <= most.messages && parts.texts <= most.texts) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the request holds ", parts.messages, " messages and ", parts.texts,
                                                 " texts; at most ", most.messages, " and ", most.texts, " are taken"));
}

bool IsReadQuickly(const grpc::ByteBuffer& buffer, uint32_t raw_field) {
  const size_t size = buffer.Length();
  if (size <= kShortFields) return true;
  if (size > kShortMessage) return false;
  const auto split = SplitMessage::Of(buffer, raw_field);
  return !split.ok() || split->rest_size() <= kShortFields;
}

}  // namespace hearth::server
