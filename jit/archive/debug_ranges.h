// Where the serialized code of an archive came from: decodes a `*.debug_pkl` record at the first question, since only
// errors ask. Both formats are read: the one with a table of strings, and the older one that repeats the whole text.
//
// Thread-safe. A record that is damaged, or takes too much memory or time to decode, answers no question and raises
// nothing: it is only there for error messages.
#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jit/archive/zip_reader.h"
#include "jit/support/source_range.h"

namespace hearth {

class DebugRanges : public OriginalLocations {
 public:
  // `record` is one of `zip`'s.
  DebugRanges(std::shared_ptr<const ZipReader> zip, const ZipRecord& record) : zip_(std::move(zip)), record_(record) {}

  bool Find(size_t offset, OriginalLocation* location) const override;

 private:
  // One stretch of the serialized text: from its offset on, the code came from there.
  struct Stretch {
    size_t offset = 0;
    c10::IValue source;  // (pieces of the text or their ids, file or its id, line that the text begins at)
    size_t begin = 0;    // within the text
    size_t end = 0;
  };

  void Decode() const;
  // The string that `value` is, or is the number of.
  std::string String(const c10::IValue& value) const;
  std::string Text(const c10::IValue& pieces) const;

  std::shared_ptr<const ZipReader> zip_;
  ZipRecord record_;
  mutable std::once_flag decoded_;
  mutable std::vector<Stretch> stretches_;  // by offset
  mutable c10::IValue strings_;             // a tuple of strings, or None in the older format
};

}  // namespace hearth
