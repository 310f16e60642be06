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
  uint64_t last = UINT64_MAX;  // the place that ends it
  bool ended = false;
  std::optional<std::multimap<Clock::time_point, std::shared_ptr<Sequence>>::iterator> idle;  // its place in idle_
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
  if (!sequence->places.empty()) {
    size_t& waiting = waiting_of_model_[servable->name];
    if (waiting >= kMostWaitingInSequences) {
      return absl::ResourceExhaustedError(absl::StrCat("the sequences of model '", servable->name, "' have ",
                                                       kMostWaitingInSequences,
                                                       " requests that wait, which is their bound"));
    }
    ++waiting;
  }
  Place place{sequence, sequence->next++, request.ends};
  sequence->places.push_back(place.number);
  EndIdle(*sequence);
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
    std::erase(sequence->places, place.number);
    sequence->waiting.erase(place.number);
    if (!sequence->places.empty()) {
      const auto count = waiting_of_model_.find(std::get<0>(sequence->key));
      if (--count->second == 0) waiting_of_model_.erase(count);
    }
    if (place.ends) sequence->last = std::min(sequence->last, place.number);
    // Those before it run, even where it left before them.
    const bool is_past_last =
        sequence->places.empty() ? sequence->last != UINT64_MAX : sequence->places.front() > sequence->last;
    if (is_past_last && !sequence->ended) {
      Forget(sequence);
      sequence->ended = true;
      states.swap(sequence->states);
      counted.swap(sequence->counted);
    }
    if (sequence->places.empty()) {
      BeginIdle(sequence);
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
  EndIdle(*sequence);
  sequences_.erase(found);
  const auto count = of_model_.find(std::get<0>(sequence->key));
  if (--count->second == 0) of_model_.erase(count);
}

void Sequences::BeginIdle(const std::shared_ptr<Sequence>& sequence) {
  const auto found = sequences_.find(sequence->key);
  if (found == sequences_.end() || found->second != sequence) return;
  sequence->idle = idle_.emplace(Clock::now() + sequence->longest_idle, sequence);
  SetAlarm();
}

void Sequences::EndIdle(Sequence& sequence) {
  if (const auto idle = std::exchange(sequence.idle, std::nullopt)) idle_.erase(*idle);
}

void Sequences::SetAlarm() {
  if (idle_.empty()) return;
  const Clock::time_point time = idle_.begin()->first;
  if (!alarm_times_.Add(time)) return;
  alarms_.CallAt(time, [this, time] { OnAlarm(time); });
}

void Sequences::OnAlarm(Clock::time_point time) {
  std::vector<std::shared_ptr<Sequence>> ended;  // let go of after the lock
  std::lock_guard lock(mutex_);
  alarm_times_.Came(time);
  while (!idle_.empty() && idle_.begin()->first <= time) {
    ended.push_back(idle_.begin()->second);
    ended.back()->ended = true;
    Forget(ended.back());
  }
  SetAlarm();
}

}  // namespace hearth::server
