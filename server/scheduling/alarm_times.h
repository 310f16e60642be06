// For which times alarms of a clock are set (alarm_clock.h), by whoever is to be called at the first of many times, and
// when that alarm comes sets the next. An alarm cannot be taken back: were one set for each time, each would set
// another one when it comes. Not thread-safe.
#pragma once

#include <set>

#include "server/scheduling/alarm_clock.h"

namespace hearth::server {

class AlarmTimes {
 public:
  using TimePoint = AlarmClock::TimePoint;

  // Whether an alarm is to be set for that time, which then is one of these: not where one comes before, and not for
  // TimePoint::max().
  bool Add(TimePoint time) {
    if (time == TimePoint::max() || (!times_.empty() && *times_.begin() <= time)) return false;
    times_.insert(time);
    return true;
  }
  // The alarm for that time has come.
  void Came(TimePoint time) { times_.erase(time); }

 private:
  std::set<TimePoint> times_;
};

}  // namespace hearth::server
