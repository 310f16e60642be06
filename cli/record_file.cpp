#include "cli/record_file.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::cli {
namespace {

using google::protobuf::io::CodedOutputStream;

constexpr const char* kRecordFormat = "hearth-record";
constexpr uint32_t kRecordVersion = 1;

// Takes the messages off, one by one.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  bool done() const { return at_ == bytes_.size(); }

  absl::StatusOr<std::string_view> Next() {
    ++number_;
    began_ = at_;
    uint64_t size = 0;
    // A varint of a length has five bytes at most.
    for (int shift = 0;; shift += 7) {
      if (at_ == bytes_.size()) return Wrong("ends within its length");
      const auto byte = static_cast<uint8_t>(bytes_[at_++]);
      size |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
      if (shift == 28) return Wrong("has no length before it");
    }
    if (size > INT_MAX) return Wrong(absl::StrCat("has ", size, " bytes; a message has at most ", INT_MAX));
    if (size > bytes_.size() - at_) {
      return Wrong(absl::StrCat("should have ", size, " bytes; the file ends after ", bytes_.size() - at_, " of them"));
    }
    const std::string_view message = bytes_.substr(at_, size);
    at_ += size;
    return message;
  }

  // Of the message that was taken last.
  absl::Status Wrong(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat("message ", number_, ", at byte ", began_, ", ", what));
  }

 private:
  const std::string_view bytes_;
  size_t at_ = 0;
  size_t began_ = 0;
  uint64_t number_ = 0;
};

absl::Status ReadHeader(Cursor& cursor, v1::RecordHeader& header) {
  constexpr const char* kNone = "it is no recording of hearth's: ";
  if (cursor.done()) return absl::InvalidArgumentError(absl::StrCat(kNone, "it is empty"));
  const auto message = cursor.Next();
  if (!message.ok()) return absl::InvalidArgumentError(absl::StrCat(kNone, message.status().message()));
  v1::RecordPart record;
  if (!record.ParseFromArray(message->data(), static_cast<int>(message->size())) || !record.has_header() ||
      record.header().format() != kRecordFormat) {
    return absl::InvalidArgumentError(absl::StrCat(kNone, "it does not begin with the header of one"));
  }
  if (record.header().format_version() != kRecordVersion) {
    return absl::InvalidArgumentError(absl::StrCat("its format has the version ", record.header().format_version(),
                                                   "; this program reads version ", kRecordVersion));
  }
  header = record.header();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RecordContents> ReadRecordContents(std::string_view bytes) {
  RecordContents contents;
  Cursor cursor(bytes);
  if (absl::Status status = ReadHeader(cursor, contents.header); !status.ok()) return status;
  while (!cursor.done()) {
    const auto message = cursor.Next();
    if (!message.ok()) return message.status();
    if (contents.end) return cursor.Wrong("comes after the end");
    v1::RecordPart record;
    if (!record.ParseFromArray(message->data(), static_cast<int>(message->size()))) {
      return cursor.Wrong("is no hearth.v1.RecordPart");
    }
    switch (record.kind_case()) {
      case v1::RecordPart::kRequest:
        contents.items.push_back({record.request().arrival_ns(), *message});
        break;
      case v1::RecordPart::kEnd:
        contents.end = record.end();
        break;
      case v1::RecordPart::kHeader:
        return cursor.Wrong("is another header");
      case v1::RecordPart::KIND_NOT_SET:
        return cursor.Wrong("is neither a request nor the end");
    }
  }
  std::ranges::stable_sort(contents.items, {}, &RecordContents::Item::arrival_ns);
  return contents;
}

absl::StatusOr<RecordFile> RecordFile::Open(const std::string& path) {
  const auto failed = [&] { return absl::InvalidArgumentError(absl::StrCat(path, ": ", std::strerror(errno))); };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed();
  const auto close = std::shared_ptr<const void>(nullptr, [file](const void*) { ::close(file); });
  struct stat facts {};
  if (::fstat(file, &facts) != 0) return failed();
  if (!S_ISREG(facts.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": is no file"));
  RecordFile opened;
  opened.size_ = static_cast<uint64_t>(facts.st_size);
  std::string_view bytes;
  if (opened.size_ > 0) {
    void* const begin = ::mmap(nullptr, opened.size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (begin == MAP_FAILED) return failed();
    opened.mapping_ = std::shared_ptr<const void>(
        begin, [size = opened.size_](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); });
    bytes = {static_cast<const char*>(begin), opened.size_};
  }
  auto contents = ReadRecordContents(bytes);
  if (!contents.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", contents.status().message()));
  opened.contents_ = *std::move(contents);
  return opened;
}

absl::StatusOr<RecordWriter> RecordWriter::Create(const std::string& path) {
  RecordWriter writer(path, ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (writer.file_ < 0) return writer.Failed();
  // Also a file that was there is its owner's alone; what is no file keeps its mode.
  struct stat facts {};
  if (::fstat(writer.file_, &facts) != 0) return writer.Failed();
  if (S_ISREG(facts.st_mode) && ::fchmod(writer.file_, S_IRUSR | S_IWUSR) != 0) return writer.Failed();
  return writer;
}

RecordWriter::~RecordWriter() { (void)Close(); }

RecordWriter::RecordWriter(RecordWriter&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), bytes_(other.bytes_) {}

absl::Status RecordWriter::Failed() const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": ", std::strerror(errno)));
}

absl::Status RecordWriter::Write(const v1::RecordPart& record) {
  std::string text;
  const size_t size = record.ByteSizeLong();
  uint8_t length[10];
  text.append(reinterpret_cast<const char*>(length), CodedOutputStream::WriteVarint64ToArray(size, length) - length);
  record.AppendToString(&text);
  for (std::string_view left = text; !left.empty();) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed();
    left.remove_prefix(static_cast<size_t>(written));
  }
  bytes_ += text.size();
  return absl::OkStatus();
}

absl::Status RecordWriter::Close() {
  const int file = std::exchange(file_, -1);
  return file < 0 || ::close(file) == 0 ? absl::OkStatus() : Failed();
}

}  // namespace hearth::cli
