// Reads the zip files that archives are: finds the directory at the end (zip64 or not), checks every offset in it
// against the file, and gives out records by name. Sizes come from the central directory alone, since the local headers
// of streamed archives have none. Records that are stored uncompressed are views of the mapping; deflated ones are
// inflated into memory of their own, within bounds, so a small file cannot ask for a large one. The bytes of a record
// are checked against its CRC-32, if it has one, before they are given out. They are brought into memory in the
// background (record_loader.h), so a large file can be opened and its small records read before its weights are there.
//
// All records of an archive live under one top folder, named by the first entry; names here are without it. What lies
// outside is not listed.
//
// Immutable after construction; reading from several threads is safe. Every flaw is an ArchiveError that names the file
// and, where there is one, the record.
//
// Format: PKWARE's APPNOTE.TXT 6.3.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jit/archive/mapping.h"
#include "jit/archive/record_loader.h"

namespace hearth {

struct ZipLimits {
  // Bytes that one deflated record, and all that the file has together, may inflate to.
  uint64_t max_inflated_record = uint64_t{1} << 30;
  uint64_t max_inflated_total = uint64_t{4} << 30;
  // How many times its stored size a record may inflate to, once it is larger than a megabyte.
  uint64_t max_inflation = 200;
};

struct ZipRecord {
  std::string_view name;  // without the top folder, e.g. "data/0"; views the mapping
  uint64_t header = 0;    // where its own header begins within the file
  size_t number = 0;      // among all records that the directory lists
  uint64_t stored_size = 0;
  uint64_t size = 0;  // once inflated
  uint32_t crc32 = 0;
  bool deflated = false;
};

// The contents of a record, alive as long as `owner` is. `data` may be written: the pages are private.
struct RecordBytes {
  char* data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> owner;

  std::string_view view() const { return {data, size}; }
};

class ZipReader {
 public:
  explicit ZipReader(std::shared_ptr<const Mapping> mapping, const ZipLimits& limits = {});

  const std::string& file_name() const { return mapping_->name(); }
  const std::string& top_folder() const { return top_folder_; }
  // In the order of the directory.
  const std::vector<ZipRecord>& records() const { return records_; }
  // Null if there is none.
  const ZipRecord* Find(std::string_view name) const;

  // Two calls for one deflated record give two copies.
  RecordBytes Read(const ZipRecord& record) const;
  // Throws if there is no such record.
  RecordBytes Read(std::string_view name) const;

  // Returns when the whole file is in memory; what it holds may then change.
  void ReadAll() const { loader_->LoadAll(); }

  const std::shared_ptr<const Mapping>& mapping() const { return mapping_; }

 private:
  struct Directory {
    uint64_t offset = 0;
    uint64_t size = 0;
    uint64_t entries = 0;
  };

  Directory FindDirectory() const;
  void ReadDirectory(const Directory& directory);
  void NameRecords();
  void CheckInflation() const;
  RecordBytes Inflate(const ZipRecord& record, char* stored) const;
  [[noreturn]] void Fail(const std::string& what) const;

  std::shared_ptr<const Mapping> mapping_;
  ZipLimits limits_;
  std::string top_folder_;
  std::vector<ZipRecord> records_;
  std::vector<uint32_t> by_name_;  // indices of records_, sorted by name
  std::unique_ptr<const RecordLoader> loader_;
};

// What a file that is no zip seems to be, for an error message: "a pickle of torch.save before 1.6", "empty", ...
std::string DescribeForeignFormat(std::string_view bytes);

}  // namespace hearth
