// Brings the records of a zip file into memory and checks them: each one's own header against the directory, and stored
// bytes against their checksum. Threads work through the file from front to back, large records in pieces, while the
// caller already reads what it needs first; a record that nobody has begun is brought by whoever asks for it. Copying
// and checksums are most of the time that loading an archive takes, so both are done at once, while a piece is in the
// processor's cache. In the background (support/background_thread.h) there are no such threads, and the caller does it
// all.
//
// Load and LoadAll may be called from several threads. A flaw is an ArchiveError that names file and record, thrown to
// whoever asks for the record, each time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "jit/archive/mapping.h"

namespace hearth {

class RecordLoader {
 public:
  // What the directory says of a record.
  struct Entry {
    std::string_view name;  // in full
    uint64_t header = 0;    // where its own header begins
    uint64_t stored_size = 0;
    uint32_t crc32 = 0;
    bool deflated = false;
  };

  // `end` is where the directory begins. Throws if two records begin at one place or one lies behind `end`. The names
  // must outlive the loader.
  RecordLoader(std::shared_ptr<const Mapping> mapping, std::vector<Entry> entries, uint64_t end);
  // Gives up what is not asked for yet.
  ~RecordLoader();
  RecordLoader(const RecordLoader&) = delete;
  RecordLoader& operator=(const RecordLoader&) = delete;

  // Where the stored bytes of the record (by its number in `entries`) lie in memory. They are there, and if they are
  // not deflated, they have the right checksum.
  char* Load(size_t record) const;
  // Returns when every byte of the file is in memory; the file is not needed any more.
  void LoadAll() const;

 private:
  struct Piece {
    uint64_t begin = 0;
    uint64_t end = 0;
    size_t record = 0;
    uint32_t crc32 = 0;    // of the record's own bytes in it
    uint64_t checked = 0;  // how many those are
    std::atomic<bool> claimed{false};
  };
  struct Record {
    Entry entry;
    uint64_t end = 0;  // where the next record or the directory begins
    std::string_view next;
    size_t first_piece = 0;
    size_t pieces = 0;
    // Of the record's bytes; one of the two marks until its header has been read.
    std::atomic<uint64_t> data;
    std::atomic<size_t> pieces_left{0};
    std::atomic<bool> done{false};
    std::atomic<bool> failed{false};
    std::string error;  // written by the first that fails
  };

  void Plan(std::vector<Entry> entries, uint64_t end);
  void Work();
  // Returns false if somebody else has begun it.
  bool Bring(Piece& piece) const;
  void ReadPiece(Piece& piece, Record& record) const;
  uint64_t ReadHeader(const Record& record) const;
  void CheckWhole(Record& record) const;
  void Advise(uint64_t offset) const;
  [[noreturn]] void Fail(const std::string& what) const;

  std::shared_ptr<const Mapping> mapping_;
  size_t record_count_ = 0;
  size_t piece_count_ = 0;
  std::unique_ptr<Record[]> records_;
  std::unique_ptr<Piece[]> pieces_;  // in the order of the file
  mutable std::atomic<uint64_t> advised_{0};
  std::atomic<size_t> next_{0};
  std::vector<std::thread> threads_;
};

}  // namespace hearth
