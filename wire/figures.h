// Numbers as people read them: three figures, a unit that fits, thousands apart.
#pragma once

#include <cstdint>
#include <string>

namespace hearth {

std::string CountText(uint64_t count);        // "12,345"
std::string RateText(double per_second);      // "0", "0.25", "12.3", "1,234"
std::string LatencyText(double seconds);      // "85 µs", "1.24 ms", "3.5 s"
std::string MemoryText(uint64_t bytes);       // "45.2 MiB"
std::string AgeText(double seconds);          // "12 s", "5 min", "3 h 20 min", "2 d 4 h"
std::string ShareText(double share);          // "97.3 %"
std::string WattsText(double watts);          // "151 W"
std::string CelsiusText(double degrees);      // "61 °C"
std::string ClockText(int64_t milliseconds);  // since the epoch: "2026-03-01 12:00:05 UTC"

}  // namespace hearth
