// Files of `hearth record`: messages hearth.v1.RecordPart (proto/hearth.proto), each with its length before it as a
// varint, as Protobuf's own libraries write and read delimited messages. The first is the header, the last the end;
// between them is one for each request. docs/record.md describes them.
//
// A file that is read may hold anything.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/hearth.pb.h"

namespace hearth::cli {

// What a file has. Points into the file's bytes.
struct RecordContents {
  struct Item {
    uint64_t arrival_ns = 0;
    std::string_view message;  // a part with a request, which can be read
  };

  v1::RecordHeader header;
  std::vector<Item> items;           // in the order of their arrival
  std::optional<v1::RecordEnd> end;  // nothing where the recording was broken off
};

// kInvalidArgument, naming the message and its place, for bytes that are no such file.
absl::StatusOr<RecordContents> ReadRecordContents(std::string_view bytes);

// A file, mapped: nobody may write into it meanwhile.
class RecordFile {
 public:
  static absl::StatusOr<RecordFile> Open(const std::string& path);

  const RecordContents& contents() const { return contents_; }
  uint64_t size() const { return size_; }

 private:
  RecordFile() = default;

  std::shared_ptr<const void> mapping_;
  uint64_t size_ = 0;
  RecordContents contents_;
};

// Makes a file, which its owner alone may read: requests hold users' data. What was there before is overwritten.
class RecordWriter {
 public:
  static absl::StatusOr<RecordWriter> Create(const std::string& path);
  ~RecordWriter();
  RecordWriter(RecordWriter&& other) noexcept;
  RecordWriter& operator=(RecordWriter&&) = delete;

  absl::Status Write(const v1::RecordPart& record);
  absl::Status Close();
  uint64_t bytes() const { return bytes_; }

 private:
  RecordWriter(std::string path, int file) : path_(std::move(path)), file_(file) {}
  absl::Status Failed() const;

  std::string path_;
  int file_ = -1;
  uint64_t bytes_ = 0;
};

}  // namespace hearth::cli
