#include "jit/archive/debug_ranges.h"

#include <ATen/core/List.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "jit/archive/pickle.h"
#include "jit/archive/storage_table.h"
#include "jit/support/load_budget.h"
#include "jit/support/memory_account.h"

namespace hearth {
namespace {

constexpr char kTableFormat[] = "FORMAT_WITH_STRING_TABLE";

// What decoding a record may take: in memory so many bytes and so many for each of the record's, in all no more than
// the last number; in time.
constexpr int64_t kLeastMemory = 16 << 20;
constexpr int64_t kMemoryPerByte = 32;
constexpr int64_t kMostMemory = 256 << 20;
constexpr std::chrono::seconds kMostTime{5};
// A longer source text is not put together.
constexpr size_t kMostText = 16 << 20;

RecordBytes NoStorage(const std::string& key) { throw ArchiveError("debug records have no storage '" + key + "'"); }

c10::ArrayRef<c10::IValue> Elements(const c10::IValue& value, size_t at_least) {
  if (!value.isTuple() || value.toTupleRef().elements().size() < at_least) throw ArchiveError("not a debug record");
  return value.toTupleRef().elements();
}

size_t Number(const c10::IValue& value) {
  if (!value.isInt() || value.toInt() < 0) throw ArchiveError("not a debug record");
  return static_cast<size_t>(value.toInt());
}

}  // namespace

void DebugRanges::Decode() const {
  // Not of the request whose error asks: what is decoded stays.
  MemoryAccount memory(std::min(kMostMemory, kLeastMemory + kMemoryPerByte * static_cast<int64_t>(std::min<uint64_t>(
                                                                                 record_.size, kMostMemory))));
  const MemoryAccount::Scope counting(&memory);
  const LoadBudget budget(kMostTime);
  const RecordBytes bytes = zip_->Read(record_);
  StorageTable storages(NoStorage, c10::Device(c10::kCPU), /*big_endian=*/false);
  PlainPickleDelegate delegate;
  PickleOptions options;
  options.file = zip_->file_name();
  options.record = record_.name;
  const c10::IValue root = ReadPickle(bytes.view(), storages, delegate, options);
  auto ranges = Elements(root, 0);
  const bool has_table = ranges.size() >= 3 && ranges[0].isString() && ranges[0].toStringRef() == kTableFormat;
  if (has_table) {
    strings_ = ranges[1];
    Elements(strings_, 0);
    ranges = Elements(ranges[2], 0);
  }
  std::vector<Stretch> stretches;
  stretches.reserve(ranges.size());
  for (const c10::IValue& range : ranges) {
    // (offset, (source, begin, end)[, tag])
    const auto parts = Elements(range, 2);
    const auto place = Elements(parts[1], 3);
    stretches.push_back({Number(parts[0]), place[0], Number(place[1]), Number(place[2])});
  }
  std::stable_sort(stretches.begin(), stretches.end(),
                   [](const Stretch& a, const Stretch& b) { return a.offset < b.offset; });
  stretches_ = std::move(stretches);
}

std::string DebugRanges::String(const c10::IValue& value) const {
  if (value.isString()) return value.toStringRef();
  const auto strings = Elements(strings_, 0);
  const size_t index = Number(value);
  if (index >= strings.size() || !strings[index].isString()) throw ArchiveError("not a debug record");
  return strings[index].toStringRef();
}

std::string DebugRanges::Text(const c10::IValue& pieces) const {
  if (!pieces.isList()) return String(pieces);
  std::string text;
  for (const c10::IValue& piece : pieces.toListRef()) {
    text += String(piece);
    if (text.size() > kMostText) throw ArchiveError("a debug record's text is too long");
  }
  return text;
}

bool DebugRanges::Find(size_t offset, OriginalLocation* location) const {
  try {
    std::call_once(decoded_, [this] {
      try {
        Decode();
      } catch (const std::exception&) {
        stretches_.clear();
        strings_ = {};
      }
    });
    const auto after = std::upper_bound(stretches_.begin(), stretches_.end(), offset,
                                        [](size_t at, const Stretch& stretch) { return at < stretch.offset; });
    if (after == stretches_.begin()) return false;
    const Stretch& stretch = *(after - 1);
    const auto source = Elements(stretch.source, 3);
    location->text = Text(source[0]);
    location->file = source[1].isNone() ? std::string() : String(source[1]);
    location->first_line = static_cast<int64_t>(Number(source[2]));
    location->begin = std::min(stretch.begin, location->text.size());
    location->end = std::clamp(stretch.end, location->begin, location->text.size());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace hearth
