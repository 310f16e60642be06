// The storages of one pickle: each record under data/ (or constants/) becomes one c10::Storage, whatever the number of
// tensors that refer to it, so tied weights and views alias as they did when saved.
//
// On the CPU a storage is a view of the record's bytes and keeps them alive; nothing is copied unless the bytes are not
// aligned or have the other byte order. For any other device the bytes are copied there once.
//
// Where the sizes of records are known beforehand, storages are given out without their data, which Fill brings:
// objects are made and code is compiled while weights are still being read. Not thread-safe.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Storage.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/archive/zip_reader.h"

namespace hearth {

// The size of a storage's bytes by its key, if that is known before they are read.
using StorageSize = std::function<std::optional<size_t>(const std::string& key)>;
// Gives the bytes of a storage by the key that the pickle names it with. Throws ArchiveError if there are none.
using ReadStorage = std::function<RecordBytes(const std::string& key)>;

class StorageTable {
 public:
  // `resizable`: whether an operator may resize the tensors, as those that a program made. Those of an archive may not
  // be, for LibTorch neither.
  StorageTable(ReadStorage read, c10::Device device, bool big_endian, bool resizable = false, StorageSize size = {})
      : read_(std::move(read)),
        size_(std::move(size)),
        device_(device),
        big_endian_(big_endian),
        resizable_(resizable) {}

  // The storage under `key`, which the pickle says holds `numel` elements of `dtype`. Throws ArchiveError if its record
  // is shorter than that. A storage of no elements has no record, and none is read. With `may_be_left_out`, an empty
  // record gives no storage.
  c10::Storage Get(const std::string& key, c10::ScalarType dtype, int64_t numel, bool may_be_left_out = false);

  // Gives every storage its data. Throws what reading throws.
  void Fill();

  c10::Device device() const { return device_; }

 private:
  struct Entry {
    c10::Storage storage;
    size_t swapped_by = 1;  // bytes of the elements whose order was reversed
  };

  // A storage without data yet, where its size is known.
  Entry Open(const std::string& key, c10::ScalarType dtype);
  c10::Storage Load(const std::string& key, size_t swapped_by);
  size_t SwappedBy(c10::ScalarType dtype) const;

  ReadStorage read_;
  StorageSize size_;
  c10::Device device_;
  bool big_endian_;
  bool resizable_;
  std::unordered_map<std::string, Entry> by_key_;
  std::vector<std::string> empty_;  // keys of storages without data, in the order of asking
};

}  // namespace hearth
