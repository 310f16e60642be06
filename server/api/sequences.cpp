#include "server/api/sequences.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {

class Sequences::Sequence {
 public:
  Key key;
  ServablePtr servable;
  std::chrono::microseconds longest_idle{0};
  std::deque<uint64_t> places;                        // the first one's turn it is
  std::map<uint64_t, std::function<void()>> waiting;  // of these
  uint64_t next = 0;
  bool ended = false;
  Clock::time_point last_use;
  bool alarm_is_set = false;
  std::vector<WireTensor> states;
  std::shared_ptr<MemoryAccount> counted;  // the states; null: nothing is limited
};

absl::StatusOr<Sequences::Place> Sequences::Join(const ServablePtr& servable, const std::string& version,
                                                 const SequenceRequest& request,
                                                 std::chrono::microseconds longest_idle) {
  Key key(servable->name, version, request.name);
  // What goes is let go of after the lock.
  std::shared_ptr<Sequence> replaced;
  std::lock_guard lock(mutex_);
  const auto found = sequences_.find(key);
  std::shared_ptr<Sequence> sequence = found == sequences_.end() ? nullptr : found->second;
  if (sequence == nullptr && !request.starts) {
    // Triton's words.
    return absl::InvalidArgumentError(absl::StrCat("inference request for sequence ", request.name, " to model '",
                                                   servable->name,
                                                   "' must specify the START flag on the first request of the "
                                                   "sequence"));
  }
  if (request.starts) {
    // As with Triton, the one before is not gone on with; what of it waits runs.
    replaced = std::move(sequence);
    if (replaced != nullptr) Forget(replaced);
    if (of_model_[servable->name] >= kMostSequences) {
      return absl::ResourceExhaustedError(absl::StrCat("the model '", servable->name, "' has ", kMostSequences,
                                                       " sequences under way, which is its bound"));
    }
    sequence = std::make_shared<Sequence>();
    sequence->key = key;
    sequence->servable = servable;
    sequence->longest_idle = longest_idle;
    sequences_.emplace(std::move(key), sequence);
    ++of_model_[servable->name];
  }
  if (sequence->places.size() >= kMostWaitingInSequence) {
    return absl::ResourceExhaustedError(absl::StrCat("the sequence ", request.name, " of model '", servable->name,
                                                     "' has ", kMostWaitingInSequence,
                                                     " requests that wait, which is its bound"));
  }
  Place place{sequence, sequence->next++, request.ends};
  sequence->places.push_back(place.number);
  sequence->last_use = Clock::now();
  return place;
}

const ServablePtr& Sequences::servable(const Place& place) { return place.sequence->servable; }

void Sequences::Await(const Place& place, std::function<void()> go) {
  {
    std::lock_guard lock(mutex_);
    Sequence& sequence = *place.sequence;
    if (std::ranges::find(sequence.places, place.number) == sequence.places.end()) return;
    if (sequence.places.front() != place.number) {
      sequence.waiting[place.number] = std::move(go);
      return;
    }
  }
  go();
}

bool Sequences::HasTurn(const Place& place) const {
  std::lock_guard lock(mutex_);
  return place.sequence->places.front() == place.number;
}

bool Sequences::HasEnded(const Place& place) const {
  std::lock_guard lock(mutex_);
  return place.sequence->ended;
}

std::vector<WireTensor> Sequences::States(const Place& place) const {
  std::lock_guard lock(mutex_);
  return place.sequence->states;
}

void Sequences::Keep(const Place& place, std::vector<WireTensor> states) {
  size_t bytes = 0;
  for (const WireTensor& state : states) {
    if (state.tensor.defined()) bytes += state.tensor.nbytes();
    for (const std::string& text : state.strings) bytes += sizeof(text) + text.size();
  }
  auto counted = place.sequence->servable->model->NewAccount();
  if (counted != nullptr) counted->Charge(bytes);
  // Those before are let go of after the lock.
  std::lock_guard lock(mutex_);
  place.sequence->states.swap(states);
  place.sequence->counted.swap(counted);
}

void Sequences::Leave(const Place& place) {
  std::function<void()> next;
  // Its states and its version are let go of after the lock.
  std::vector<WireTensor> states;
  std::shared_ptr<MemoryAccount> counted;
  {
    std::lock_guard lock(mutex_);
    const std::shared_ptr<Sequence>& sequence = place.sequence;
    const bool had_turn = sequence->places.front() == place.number;
    std::erase(sequence->places, place.number);
    sequence->waiting.erase(place.number);
    sequence->last_use = Clock::now();
    if (had_turn && place.ends) {
      Forget(sequence);
      sequence->ended = true;
      states.swap(sequence->states);
      counted.swap(sequence->counted);
    }
    if (sequence->places.empty()) {
      SetAlarm(sequence);
    } else if (const auto waiting = sequence->waiting.find(sequence->places.front());
               waiting != sequence->waiting.end()) {
      next = std::move(waiting->second);
      sequence->waiting.erase(waiting);
    }
  }
  if (next) next();
}

size_t Sequences::size() const {
  std::lock_guard lock(mutex_);
  return sequences_.size();
}

void Sequences::Forget(const std::shared_ptr<Sequence>& sequence) {
  const auto found = sequences_.find(sequence->key);
  if (found == sequences_.end() || found->second != sequence) return;
  sequences_.erase(found);
  const auto count = of_model_.find(std::get<0>(sequence->key));
  if (--count->second == 0) of_model_.erase(count);
}

void Sequences::SetAlarm(const std::shared_ptr<Sequence>& sequence) {
  const auto found = sequences_.find(sequence->key);
  if (sequence->alarm_is_set || found == sequences_.end() || found->second != sequence) return;
  sequence->alarm_is_set = true;
  alarms_.CallAt(sequence->last_use + sequence->longest_idle,
                 [this, weak = std::weak_ptr<Sequence>(sequence)] { OnAlarm(weak); });
}

void Sequences::OnAlarm(const std::weak_ptr<Sequence>& weak) {
  const std::shared_ptr<Sequence> sequence = weak.lock();
  if (sequence == nullptr) return;
  // Whoever has the last reference lets go of it after the lock.
  std::lock_guard lock(mutex_);
  sequence->alarm_is_set = false;
  if (!sequence->places.empty()) return;
  if (Clock::now() < sequence->last_use + sequence->longest_idle) return SetAlarm(sequence);
  Forget(sequence);
  sequence->ended = true;
}

}  // namespace hearth::server
