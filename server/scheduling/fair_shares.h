// Slots for runs, and whose run gets the next free one. A model whose runs wait for a slot has its share of the slots'
// time: by its weight among the models that wait, and however long its runs take. Where nobody else waits, it may have
// all slots.
//
// The algorithm is start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996) for several servers at once, SFQ(D) (Jin,
// Chase, Kaur, SIGMETRICS 2004). A model's tag is the virtual time at which its next run may start: each run moves it
// on by the run's time over the model's weight, and it is never before the virtual time, which is the tag of the latest
// run that started. The run with the least tag starts first. A run's time is not known when it starts, so the mean of
// the model's last runs is charged, and put right when the run ends.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hearth::server {

// A model's, of all its versions.
struct ModelShare {
  double weight = 1;
  bool takes_slots = true;  // else it has as many as it asks for, and they are none of those that are shared
  double tag = 0;           // in seconds of virtual time
  double mean_time = 0;     // of runs, in seconds
};

// One that a run holds from its start to its end.
struct RunSlot {
  ModelShare* share = nullptr;
  std::chrono::steady_clock::time_point since;
  double charged = 0;     // seconds
  bool is_shared = true;  // one of those that are shared
};

// Runs that wait for slots.
class SlotWaiter {
 public:
  virtual ~SlotWaiter() = default;
  // Starts one with the slot, and waits again if it has more; false where it has none, and the slot is given back.
  virtual bool UseSlot(const RunSlot& slot) = 0;
};

class FairShares {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit FairShares(int64_t slots) : free_slots_(slots) {}

  // Of the model of that name, from now on with this weight. There is one for each name that was ever asked for.
  ModelShare& ShareOf(const std::string& name, double weight, bool takes_slots = true);

  // A free slot that nobody waits for.
  std::optional<RunSlot> Take(ModelShare& share, TimePoint now);
  // Next gives it a slot, once. For one that does not wait yet.
  void Wait(ModelShare& share, std::weak_ptr<SlotWaiter> waiter);

  // The slot's run has ended.
  void Free(const RunSlot& slot, TimePoint now);
  // There was no run for the slot.
  void GiveBack(const RunSlot& slot);

  bool anyone_waits() const { return !waiting_.empty(); }
  struct Grant {
    std::shared_ptr<SlotWaiter> waiter;
    RunSlot slot;
  };
  // Whose turn it is, where a slot is free.
  std::optional<Grant> Next(TimePoint now);

 private:
  struct Waiting {
    ModelShare* share;
    std::weak_ptr<SlotWaiter> waiter;
  };

  RunSlot Start(ModelShare& share, TimePoint now);

  int64_t free_slots_;
  double virtual_time_ = 0;
  std::vector<Waiting> waiting_;  // in the order in which they came
  std::unordered_map<std::string, ModelShare> shares_;
};

}  // namespace hearth::server
