#include "jit/archive/record_loader.h"

#include <zlib.h>

#include <algorithm>
#include <numeric>
#include <system_error>
#include <utility>

#include "jit/archive/crc32.h"
#include "jit/archive/zip_format.h"
#include "jit/support/background_thread.h"
#include "jit/support/load_budget.h"
#include "jit/support/processors.h"

namespace hearth {
namespace {

using zip::Fits;
using zip::Number;
using zip::Quoted;

// What one thread takes at a time, and what is worth a thread.
constexpr uint64_t kPieceSize = uint64_t{4} << 20;
constexpr unsigned kMostThreads = 8;

// The disk is asked for this much ahead of the piece that is being read, in steps of one piece.
constexpr uint64_t kReadAhead = uint64_t{64} << 20;

// Of Record::data, before the header has been read and if it is wrong. Data begins behind a header, never there.
constexpr uint64_t kUnread = 0;
constexpr uint64_t kWrongHeader = 1;

}  // namespace

RecordLoader::RecordLoader(std::shared_ptr<const Mapping> mapping, std::vector<Entry> entries, uint64_t end)
    : mapping_(std::move(mapping)) {
  Plan(std::move(entries), end);
  const uint64_t most = IsInBackground() ? 0 : kMostThreads;
  const uint64_t useful = std::min<uint64_t>({most, static_cast<uint64_t>(UsableProcessors()), end / kPieceSize});
  try {
    for (uint64_t i = 0; i < useful; ++i) threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error&) {
    // Fewer threads, or none, do as well: who asks for a record brings it.
  }
}

RecordLoader::~RecordLoader() {
  next_ = piece_count_;
  for (std::thread& thread : threads_) thread.join();
  mapping_->CloseFile();
}

void RecordLoader::Fail(const std::string& what) const { throw ArchiveError(mapping_->name() + ": " + what); }

void RecordLoader::Plan(std::vector<Entry> entries, uint64_t end) {
  record_count_ = entries.size();
  records_ = std::make_unique<Record[]>(record_count_);
  std::vector<size_t> order(record_count_);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return entries[a].header < entries[b].header; });
  for (size_t i = 0; i < order.size(); ++i) {
    Record& record = records_[order[i]];
    record.entry = entries[order[i]];
    record.end = end;
    if (record.entry.header >= end) {
      Fail("record " + Quoted(record.entry.name) + " is not where the zip directory says");
    }
    if (i + 1 < order.size() && entries[order[i + 1]].header < end) {
      record.end = entries[order[i + 1]].header;
      record.next = entries[order[i + 1]].name;
    }
    if (record.end == record.entry.header) {
      Fail("records " + Quoted(record.entry.name) + " and " + Quoted(record.next) + " overlap");
    }
    record.first_piece = piece_count_;
    record.pieces = (record.end - record.entry.header + kPieceSize - 1) / kPieceSize;
    record.pieces_left = record.pieces;
    record.data = kUnread;
    piece_count_ += record.pieces;
  }
  pieces_ = std::make_unique<Piece[]>(piece_count_);
  for (const size_t number : order) {
    const Record& record = records_[number];
    uint64_t begin = record.entry.header;
    for (size_t i = 0; i < record.pieces; ++i) {
      Piece& piece = pieces_[record.first_piece + i];
      piece.record = number;
      piece.begin = begin;
      piece.end = begin = std::min(record.end, begin + kPieceSize);
    }
  }
}

void RecordLoader::Work() {
  for (size_t i = next_.fetch_add(1); i < piece_count_; i = next_.fetch_add(1)) Bring(pieces_[i]);
}

bool RecordLoader::Bring(Piece& piece) const {
  if (piece.claimed.exchange(true)) return false;
  Record& record = records_[piece.record];
  try {
    ReadPiece(piece, record);
  } catch (const std::exception& error) {
    if (!record.failed.exchange(true)) record.error = error.what();
  }
  if (record.pieces_left.fetch_sub(1) == 1) {
    CheckWhole(record);
    record.done = true;
    record.done.notify_all();
  }
  return true;
}

void RecordLoader::ReadPiece(Piece& piece, Record& record) const {
  const bool first = piece.begin == record.entry.header;
  uint64_t data = kWrongHeader;
  try {
    Advise(piece.begin);
    mapping_->Fill(piece.begin, piece.end);
    if (first) data = ReadHeader(record);
  } catch (...) {
    if (first) {
      record.data = kWrongHeader;
      record.data.notify_all();
    }
    throw;
  }
  if (first) {
    record.data = data;
    record.data.notify_all();
  } else {
    // Whoever claimed the record's first piece is reading it.
    record.data.wait(kUnread);
    data = record.data;
    if (data == kWrongHeader) return;
  }
  if (record.entry.deflated || record.entry.crc32 == 0) return;
  const uint64_t begin = std::max(piece.begin, data);
  const uint64_t end = std::min(piece.end, data + record.entry.stored_size);
  if (begin >= end) return;
  piece.checked = end - begin;
  piece.crc32 = Crc32(mapping_->bytes().substr(begin, piece.checked));
}

// Where the record's bytes begin.
uint64_t RecordLoader::ReadHeader(const Record& record) const {
  const Entry& entry = record.entry;
  const std::string_view bytes = mapping_->bytes().substr(entry.header, record.end - entry.header);
  if (!Fits(bytes, 0, zip::kLocalHeaderSize) || Number<uint32_t>(bytes, 0) != zip::kLocalHeader) {
    Fail("record " + Quoted(entry.name) + " is not where the zip directory says");
  }
  const uint64_t name_size = Number<uint16_t>(bytes, 26);
  const uint64_t extra_size = Number<uint16_t>(bytes, 28);
  if (name_size != entry.name.size() || !Fits(bytes, zip::kLocalHeaderSize, name_size) ||
      bytes.substr(zip::kLocalHeaderSize, name_size) != entry.name) {
    Fail("record " + Quoted(entry.name) + " has another name in its own header");
  }
  if (Number<uint16_t>(bytes, 8) != (entry.deflated ? zip::kDeflated : zip::kStored)) {
    Fail("record " + Quoted(entry.name) + " has another compression method in its own header");
  }
  const uint64_t data = zip::kLocalHeaderSize + name_size + extra_size;
  if (!Fits(bytes, data, entry.stored_size)) {
    if (!record.next.empty()) Fail("records " + Quoted(entry.name) + " and " + Quoted(record.next) + " overlap");
    Fail("record " + Quoted(entry.name) + " reaches past the end of the records");
  }
  return entry.header + data;
}

// Called once all pieces are there.
void RecordLoader::CheckWhole(Record& record) const {
  if (record.failed || record.entry.deflated || record.entry.crc32 == 0) return;
  uint32_t crc = 0;
  for (size_t i = 0; i < record.pieces; ++i) {
    const Piece& piece = pieces_[record.first_piece + i];
    crc = static_cast<uint32_t>(crc32_combine(crc, piece.crc32, static_cast<z_off_t>(piece.checked)));
  }
  if (crc == record.entry.crc32) return;
  record.failed = true;
  const std::string_view name = record.entry.name.substr(record.entry.name.find('/') + 1);
  record.error = mapping_->name() + ": record " + Quoted(name) +
                 " is damaged: its bytes do not have the checksum that the archive gives";
}

void RecordLoader::Advise(uint64_t offset) const {
  uint64_t advised = advised_;
  while (advised < offset + kReadAhead && advised < mapping_->bytes().size()) {
    if (advised_.compare_exchange_weak(advised, advised + kPieceSize)) mapping_->ReadAhead(advised, kPieceSize);
  }
}

char* RecordLoader::Load(size_t number) const {
  const Record& record = records_[number];
  if (!record.done) {
    for (size_t i = 0; i < record.pieces; ++i) {
      LoadBudget::CheckStopped();
      Bring(pieces_[record.first_piece + i]);
    }
    record.done.wait(false);
  }
  if (record.failed) throw ArchiveError(record.error);
  return mapping_->data() + record.data;
}

void RecordLoader::LoadAll() const {
  for (size_t i = 0; i < piece_count_; ++i) {
    LoadBudget::CheckStopped();
    Bring(pieces_[i]);
  }
  for (size_t i = 0; i < record_count_; ++i) records_[i].done.wait(false);
  mapping_->CloseFile();
}

}  // namespace hearth
