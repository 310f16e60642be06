// Epoch-based reclamation: readers follow pointers that writers swap, without a lock and without writing to memory that
// another thread reads often; a writer frees what it unlinked once no reader can still see it.
//
//   reader:  EpochReader reading;                 writer, one at a time:  pointer.store(replacement);
//            const T* seen = pointer.load();                              limbo.Retire(old);
//            ... uses *seen ...                                           limbo.Collect();   // now or later
//
// A reader announces in a slot of its thread the epoch in which it began. A writer unlinks, then begins a new epoch:
// who announces that one or a later one cannot have seen what was unlinked. After K. Fraser, "Practical lock-freedom",
// 2004, chapter 5, with a time stamp for each retired object instead of three lists, since writers are rare here.
//
// The pointer's loads and stores must be sequentially consistent (the default), so that a writer who does not see a
// reader's announcement is seen by that reader.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace hearth {

struct EpochSlot;

// The calling thread reads until the end of the scope. Readings nest. What is retired meanwhile, by anybody and
// anywhere in the process, is not freed: keep it short, and never wait in it.
class EpochReader {
 public:
  EpochReader();
  ~EpochReader();
  EpochReader(const EpochReader&) = delete;
  EpochReader& operator=(const EpochReader&) = delete;

  // A small number that no other living thread has: picks a stripe of what is striped.
  unsigned thread_number() const;

 private:
  EpochSlot* slot_;
  bool outermost_;
};

// What has been unlinked and perhaps not forgotten by all readers. Used by one thread at a time. Whoever destroys it
// knows that no reader is left.
class EpochLimbo {
 public:
  // `object` can no longer be found by readers that begin now.
  void Retire(std::shared_ptr<const void> object);
  // Takes out what no reader can see any more: the caller destroys it, out of its locks.
  std::vector<std::shared_ptr<const void>> Collect();
  size_t size() const { return retired_.size(); }

 private:
  std::vector<std::pair<uint64_t, std::shared_ptr<const void>>> retired_;  // by the epoch that began then, ascending
};

}  // namespace hearth
