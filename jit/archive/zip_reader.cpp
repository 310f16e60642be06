#include "jit/archive/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "jit/archive/crc32.h"
#include "jit/archive/zip_format.h"

namespace hearth {
namespace {

using zip::Fits;
using zip::kDeflated;
using zip::kLocalHeader;
using zip::kStored;
using zip::Number;
using zip::Quoted;

constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kEndOfDirectory = 0x06054b50;
constexpr uint32_t kZip64Locator = 0x07064b50;
constexpr uint32_t kZip64EndOfDirectory = 0x06064b50;

constexpr size_t kDirectoryEntrySize = 46;
constexpr size_t kEndOfDirectorySize = 22;
constexpr size_t kZip64LocatorSize = 20;
constexpr size_t kZip64EndOfDirectorySize = 56;
constexpr size_t kLongestComment = 65535;

constexpr uint16_t kEncryptedFlag = 1;
constexpr uint16_t kZip64Field = 1;

constexpr uint64_t kInflationCountsFrom = uint64_t{1} << 20;

// The values that did not fit into an entry's 32-bit fields, in the format's fixed order. Returns whether all were
// there.
bool ReadZip64Field(std::string_view extra, uint64_t* size, uint64_t* stored_size, uint64_t* header_offset) {
  constexpr uint64_t kElsewhere = 0xFFFFFFFF;
  if (*size != kElsewhere && *stored_size != kElsewhere && *header_offset != kElsewhere) return true;
  while (extra.size() >= 4) {
    const uint16_t id = Number<uint16_t>(extra, 0);
    const uint16_t length = Number<uint16_t>(extra, 2);
    if (length > extra.size() - 4) return false;
    std::string_view field = extra.substr(4, length);
    extra.remove_prefix(4 + size_t{length});
    if (id != kZip64Field) continue;
    for (uint64_t* value : {size, stored_size, header_offset}) {
      if (*value != kElsewhere) continue;
      if (field.size() < 8) return false;
      *value = Number<uint64_t>(field, 0);
      field.remove_prefix(8);
    }
    return true;
  }
  return false;
}

}  // namespace

ZipReader::ZipReader(std::shared_ptr<const Mapping> mapping, const ZipLimits& limits)
    : mapping_(std::move(mapping)), limits_(limits) {
  const Directory directory = FindDirectory();
  ReadDirectory(directory);
  std::vector<RecordLoader::Entry> entries;
  entries.reserve(records_.size());
  for (const ZipRecord& record : records_) {
    entries.push_back({record.name, record.header, record.stored_size, record.crc32, record.deflated});
  }
  loader_ = std::make_unique<const RecordLoader>(mapping_, std::move(entries), directory.offset);
  NameRecords();
  CheckInflation();
}

void ZipReader::Fail(const std::string& what) const { throw ArchiveError(file_name() + ": " + what); }

ZipReader::Directory ZipReader::FindDirectory() const {
  const std::string_view bytes = mapping_->bytes();
  // The end may be as far from the file's as its longest comment is long.
  constexpr size_t kTail = kLongestComment + kEndOfDirectorySize + kZip64LocatorSize + kZip64EndOfDirectorySize;
  mapping_->Fill(bytes.size() > kTail ? bytes.size() - kTail : 0, bytes.size());
  size_t end = std::string_view::npos;
  if (bytes.size() >= kEndOfDirectorySize) {
    const size_t last = bytes.size() - kEndOfDirectorySize;
    const size_t first = last > kLongestComment ? last - kLongestComment : 0;
    for (size_t at = last + 1; at-- > first;) {
      if (Number<uint32_t>(bytes, at) != kEndOfDirectory) continue;
      // A comment may hold these four bytes by chance; the real end's comment reaches to the end of the file.
      if (at + kEndOfDirectorySize + Number<uint16_t>(bytes, at + 20) != bytes.size()) continue;
      end = at;
      break;
    }
  }
  if (end == std::string_view::npos) {
    mapping_->Fill(0, std::min<size_t>(bytes.size(), kTail));
    if (bytes.size() >= 4 && Number<uint32_t>(bytes, 0) == kLocalHeader) {
      Fail("the zip file is cut off: it begins like an archive, but its directory at the end is missing");
    }
    Fail("not a TorchScript archive: " + DescribeForeignFormat(bytes));
  }

  Directory directory;
  if (Number<uint16_t>(bytes, end + 4) != 0 || Number<uint16_t>(bytes, end + 6) != 0) {
    Fail("the zip file is split over several disks");
  }
  directory.entries = Number<uint16_t>(bytes, end + 10);
  directory.size = Number<uint32_t>(bytes, end + 12);
  directory.offset = Number<uint32_t>(bytes, end + 16);
  uint64_t directory_limit = end;

  const bool has_locator =
      end >= kZip64LocatorSize && Number<uint32_t>(bytes, end - kZip64LocatorSize) == kZip64Locator;
  if (has_locator) {
    const uint64_t end64 = Number<uint64_t>(bytes, end - kZip64LocatorSize + 8);
    const bool fits = Fits(bytes, end64, kZip64EndOfDirectorySize) && end64 <= end - kZip64LocatorSize;
    if (fits) mapping_->Fill(end64, end64 + kZip64EndOfDirectorySize);
    if (!fits || Number<uint32_t>(bytes, end64) != kZip64EndOfDirectory) {
      Fail("the zip64 end of the directory is not where its locator says");
    }
    directory.entries = Number<uint64_t>(bytes, end64 + 32);
    directory.size = Number<uint64_t>(bytes, end64 + 40);
    directory.offset = Number<uint64_t>(bytes, end64 + 48);
    directory_limit = end64;
  }
  if (directory.offset > directory_limit || directory.size > directory_limit - directory.offset) {
    Fail("the zip directory lies outside of the file");
  }
  if (directory.entries > directory.size / kDirectoryEntrySize) Fail("the zip directory is too small for its entries");
  if (directory.entries > std::numeric_limits<uint32_t>::max()) Fail("the zip directory has too many entries");
  if (directory.entries == 0) Fail("the zip file is empty");
  return directory;
}

// Fills records_ with full names.
void ZipReader::ReadDirectory(const Directory& directory) {
  mapping_->Fill(directory.offset, directory.offset + directory.size);
  const std::string_view entries = mapping_->bytes().substr(directory.offset, directory.size);
  records_.reserve(directory.entries);
  uint64_t at = 0;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (!Fits(entries, at, kDirectoryEntrySize) || Number<uint32_t>(entries, at) != kDirectoryEntry) {
      Fail("entry " + std::to_string(i) + " of the zip directory is damaged");
    }
    const uint16_t flags = Number<uint16_t>(entries, at + 8);
    const uint16_t method = Number<uint16_t>(entries, at + 10);
    const uint64_t name_size = Number<uint16_t>(entries, at + 28);
    const uint64_t extra_size = Number<uint16_t>(entries, at + 30);
    const uint64_t comment_size = Number<uint16_t>(entries, at + 32);
    ZipRecord record;
    record.crc32 = Number<uint32_t>(entries, at + 16);
    record.stored_size = Number<uint32_t>(entries, at + 20);
    record.size = Number<uint32_t>(entries, at + 24);
    record.header = Number<uint32_t>(entries, at + 42);
    record.number = i;
    at += kDirectoryEntrySize;
    if (!Fits(entries, at, name_size + extra_size + comment_size)) {
      Fail("entry " + std::to_string(i) + " of the zip directory is damaged");
    }
    record.name = entries.substr(at, name_size);
    if (!ReadZip64Field(entries.substr(at + name_size, extra_size), &record.size, &record.stored_size,
                        &record.header)) {
      Fail("record " + Quoted(record.name) + " has a damaged zip64 field");
    }
    at += name_size + extra_size + comment_size;
    if (flags & kEncryptedFlag) Fail("record " + Quoted(record.name) + " is encrypted");
    if (method != kStored && method != kDeflated) {
      Fail("record " + Quoted(record.name) + " is compressed by method " + std::to_string(method) +
           ", not stored or deflated");
    }
    record.deflated = method == kDeflated;
    if (!record.deflated && record.stored_size != record.size) {
      Fail("record " + Quoted(record.name) + " is stored, but has two sizes");
    }
    records_.push_back(record);
  }
}

void ZipReader::NameRecords() {
  const size_t slash = records_.front().name.find('/');
  if (slash == std::string_view::npos) {
    Fail("not a TorchScript archive: record " + Quoted(records_.front().name) + " is not in a top folder");
  }
  top_folder_ = std::string(records_.front().name.substr(0, slash));
  const std::string prefix = top_folder_ + "/";
  std::vector<ZipRecord> inside;
  inside.reserve(records_.size());
  for (ZipRecord& record : records_) {
    if (record.name.substr(0, prefix.size()) != prefix) continue;
    record.name.remove_prefix(prefix.size());
    // A folder's own entry.
    if (record.name.empty() || record.name.back() == '/') continue;
    inside.push_back(record);
  }
  records_ = std::move(inside);
  by_name_.resize(records_.size());
  for (uint32_t i = 0; i < by_name_.size(); ++i) by_name_[i] = i;
  std::sort(by_name_.begin(), by_name_.end(),
            [this](uint32_t a, uint32_t b) { return records_[a].name < records_[b].name; });
  for (size_t i = 1; i < by_name_.size(); ++i) {
    if (records_[by_name_[i]].name == records_[by_name_[i - 1]].name) {
      Fail("record " + Quoted(records_[by_name_[i]].name) + " is there twice");
    }
  }
}

const ZipRecord* ZipReader::Find(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [this](uint32_t index, std::string_view key) { return records_[index].name < key; });
  if (found == by_name_.end() || records_[*found].name != name) return nullptr;
  return &records_[*found];
}

RecordBytes ZipReader::Read(std::string_view name) const {
  const ZipRecord* record = Find(name);
  if (!record) Fail("record " + Quoted(name) + " is missing");
  return Read(*record);
}

RecordBytes ZipReader::Read(const ZipRecord& record) const {
  char* stored = loader_->Load(record.number);
  if (!record.deflated) return {stored, record.size, mapping_};
  RecordBytes bytes = Inflate(record, stored);
  // torch writes 0 where it was told to compute no checksums.
  if (record.crc32 != 0 && Crc32(bytes.view()) != record.crc32) {
    Fail("record " + Quoted(record.name) + " is damaged: its bytes do not have the checksum that the archive gives");
  }
  return bytes;
}

// Nothing needs to be inflated to see that a directory asks for too much.
void ZipReader::CheckInflation() const {
  uint64_t total = 0;
  for (const ZipRecord& record : records_) {
    if (!record.deflated) continue;
    const auto refuse = [&](const std::string& why) {
      Fail("record " + Quoted(record.name) + " would inflate from " + std::to_string(record.stored_size) + " to " +
           std::to_string(record.size) + " bytes: " + why);
    };
    if (record.size > limits_.max_inflated_record) refuse("that is too large");
    if (record.size > kInflationCountsFrom && record.size / limits_.max_inflation > record.stored_size) {
      refuse("no honest record is packed so tightly");
    }
    total += record.size;
    if (total > limits_.max_inflated_total) refuse("too much together with the records before it");
  }
}

RecordBytes ZipReader::Inflate(const ZipRecord& record, char* stored) const {
  // Aligned as stored records are, since it may be a storage's.
  constexpr std::align_val_t kAlignment{64};
  const std::shared_ptr<char> inflated(
      static_cast<char*>(::operator new(std::max<uint64_t>(record.size, 1), kAlignment)),
      [](char* data) { ::operator delete (data, std::align_val_t{64}); });
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) Fail("zlib cannot be started");
  // zlib counts in 32 bits; a limit of a gigabyte keeps the output within that, the input goes in by pieces.
  stream.next_out = reinterpret_cast<Bytef*>(inflated.get());
  stream.avail_out = static_cast<uInt>(record.size);
  uint64_t fed = 0;
  int result = Z_OK;
  while (result == Z_OK) {
    if (stream.avail_in == 0 && fed < record.stored_size) {
      const uint64_t piece = std::min<uint64_t>(record.stored_size - fed, uint64_t{1} << 30);
      stream.next_in = reinterpret_cast<Bytef*>(stored + fed);
      stream.avail_in = static_cast<uInt>(piece);
      fed += piece;
    }
    result = inflate(&stream, Z_NO_FLUSH);
  }
  const bool whole =
      result == Z_STREAM_END && stream.total_out == record.size && stream.avail_in == 0 && fed == record.stored_size;
  inflateEnd(&stream);
  if (!whole)
    Fail("record " + Quoted(record.name) + " is damaged: it does not inflate to the size that the archive gives");
  RecordBytes bytes;
  bytes.data = inflated.get();
  bytes.size = record.size;
  bytes.owner = inflated;
  return bytes;
}

std::string DescribeForeignFormat(std::string_view bytes) {
  const auto begins = [&](std::string_view magic) { return bytes.substr(0, magic.size()) == magic; };
  if (bytes.empty()) return "the file is empty";
  if (begins("PYTORCH1")) return "the preview format of PyTorch 1.0 (PYTORCH1), which nothing reads any more";
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "PTMF") {
    return "a flatbuffer for the mobile interpreter (.ptl, .ff); save the module with torch.jit.save instead";
  }
  if (begins("\x80\x02") || begins("\x80\x03") || begins("\x80\x04") || begins("\x80\x05")) {
    return "a bare pickle, as torch.save wrote before PyTorch 1.6; load and save it again with a newer torch";
  }
  if (bytes.size() >= 263 && bytes.substr(257, 5) == "ustar") return "a tar file";
  if (begins("\x1f\x8b")) return "compressed with gzip";
  if (begins("\x89HDF")) return "an HDF5 file";
  if (bytes.size() >= 9 && bytes[8] == '{' && Number<uint64_t>(bytes, 0) < bytes.size()) return "a safetensors file";
  return "the file is no zip file";
}

}  // namespace hearth
