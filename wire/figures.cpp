#include "wire/figures.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "absl/strings/str_cat.h"

namespace hearth {
namespace {

std::string Format(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// With three figures, as far as they are behind the point.
std::string ThreeFigures(double value) {
  if (value >= 99.95) return Format("%.0f", value);
  return Format(value >= 9.995 ? "%.1f" : "%.2f", value);
}

}  // namespace

std::string CountText(uint64_t count) {
  if (count < 1000) return std::to_string(count);
  std::string last = std::to_string(count % 1000);
  last.insert(0, 3 - last.size(), '0');
  return absl::StrCat(CountText(count / 1000), ",", last);
}

std::string RateText(double per_second) {
  if (per_second <= 0) return "0";
  return per_second >= 99.95 ? CountText(static_cast<uint64_t>(std::llround(per_second))) : ThreeFigures(per_second);
}

std::string LatencyText(double seconds) {
  if (seconds < 0.9995e-3) return Format("%.0f µs", seconds * 1e6);
  if (seconds < 0.9995) return ThreeFigures(seconds * 1e3) + " ms";
  return ThreeFigures(seconds) + " s";
}

std::string MemoryText(uint64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  while (value >= 1023.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return ThreeFigures(value) + " " + kUnits[unit];
}

std::string AgeText(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(seconds, 0.0));
  const int64_t minutes = whole / 60, hours = minutes / 60, days = hours / 24;
  if (minutes == 0) return absl::StrCat(whole, " s");
  if (hours == 0) return absl::StrCat(minutes, " min");
  if (days == 0) return absl::StrCat(hours, " h ", minutes % 60, " min");
  return absl::StrCat(days, " d ", hours % 24, " h");
}

std::string ShareText(double share) { return Format("%.1f %%", share * 100); }

std::string WattsText(double watts) { return Format("%.0f W", watts); }

std::string CelsiusText(double degrees) { return Format("%.0f °C", degrees); }

std::string ClockText(int64_t milliseconds) {
  const time_t seconds = milliseconds / 1000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

}  // namespace hearth
