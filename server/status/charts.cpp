#include "server/status/charts.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/telemetry/traffic_history.h"

namespace hearth::server {
namespace {

constexpr double kWidth = 240;
constexpr double kSparkHeight = 32;
constexpr double kChartHeight = 160;
// Room for the width of lines at both ends.
constexpr double kMargin = 2;

std::string Coordinate(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

// Where the values of a line lie.
class Grid {
 public:
  Grid(size_t size, double height, double top)
      : first_(TrafficHistory::kMostPoints - std::min(size, TrafficHistory::kMostPoints)), height_(height), top_(top) {}

  std::string X(size_t i) const {
    const double step = (kWidth - 2 * kMargin) / (TrafficHistory::kMostPoints - 1);
    return Coordinate(kMargin + static_cast<double>(first_ + i) * step);
  }
  std::string Y(double value) const {
    const double share = top_ > 0 ? std::clamp(value / top_, 0.0, 1.0) : 0;
    return Coordinate(height_ - kMargin - share * (height_ - 2 * kMargin));
  }

 private:
  size_t first_;
  double height_;
  double top_;
};

// A path through the values, in pieces where some are missing. `closed`: each piece down to the bottom.
std::string PathOf(const Values& values, const Grid& grid, bool closed) {
  std::string path;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    const bool begins = i == 0 || !values[i - 1];
    const bool ends = i + 1 == values.size() || !values[i + 1];
    if (begins && closed)
      absl::StrAppend(&path, "M", grid.X(i), " ", grid.Y(0), "L", grid.X(i), " ", grid.Y(*values[i]));
    if (begins && !closed) absl::StrAppend(&path, "M", grid.X(i), " ", grid.Y(*values[i]));
    if (!begins) absl::StrAppend(&path, "L", grid.X(i), " ", grid.Y(*values[i]));
    // Round ends make a dot of a piece without length.
    if (begins && ends && !closed) path += "h0";
    if (ends && closed) absl::StrAppend(&path, "L", grid.X(i), " ", grid.Y(0), "Z");
  }
  return path;
}

void Begin(Html& html, Html::Markup css_class, double height, std::string_view label) {
  html.Raw("<svg class=\"").Raw(css_class).Raw("\" viewBox=\"0 0 ").Text(Coordinate(kWidth)).Raw(" ");
  html.Text(Coordinate(height)).Raw("\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"").Text(label);
  html.Raw("\">");
}

void WriteRectangle(Html& html, Html::Markup css_class, double x, double y, double width, double height) {
  html.Raw("<rect class=\"").Raw(css_class).Raw("\" x=\"").Text(Coordinate(x)).Raw("\" y=\"").Text(Coordinate(y));
  html.Raw("\" width=\"").Text(Coordinate(width)).Raw("\" height=\"").Text(Coordinate(height)).Raw("\"/>");
}

}  // namespace

double LargestOf(const Values& values) {
  double largest = 0;
  for (const auto& value : values) largest = std::max(largest, value.value_or(0));
  return largest;
}

void WriteSparkline(Html& html, const Values& values, std::string_view label) {
  const Grid grid(values.size(), kSparkHeight, LargestOf(values));
  Begin(html, "spark", kSparkHeight, label);
  html.Raw("<path class=\"area\" d=\"").Text(PathOf(values, grid, true)).Raw("\"/>");
  html.Raw("<path class=\"line\" d=\"").Text(PathOf(values, grid, false)).Raw("\"/></svg>");
}

void WriteLineChart(Html& html, const std::vector<ChartLine>& lines, double top, std::string_view label) {
  Begin(html, "lines", kChartHeight, label);
  for (const int quarter : {0, 1, 2, 3, 4}) {
    const double y = kMargin + (kChartHeight - 2 * kMargin) * quarter / 4;
    html.Raw("<path class=\"grid\" d=\"M0 ").Text(Coordinate(y)).Raw("H").Text(Coordinate(kWidth)).Raw("\"/>");
  }
  for (const ChartLine& line : lines) {
    const Grid grid(line.values.size(), kChartHeight, top);
    html.Raw("<path class=\"").Raw(line.css_class).Raw("\" d=\"").Text(PathOf(line.values, grid, false)).Raw("\"/>");
  }
  html.Raw("</svg>");
}

void WriteBars(Html& html, const std::vector<double>& values, std::string_view label) {
  Begin(html, "bars", kChartHeight / 2, label);
  const double top = values.empty() ? 0 : *std::ranges::max_element(values);
  const double step = kWidth / static_cast<double>(std::max<size_t>(values.size(), 1));
  for (size_t i = 0; i < values.size(); ++i) {
    // What is there at all is to be seen.
    const double height = values[i] <= 0 ? 0 : std::max(values[i] / top * kChartHeight / 2, 1.0);
    WriteRectangle(html, "bar", static_cast<double>(i) * step + step * 0.1, kChartHeight / 2 - height, step * 0.8,
                   height);
  }
  html.Raw("</svg>");
}

void WriteSharesBar(Html& html, const std::vector<BarPart>& parts, std::string_view label) {
  double total = 0;
  for (const BarPart& part : parts) total += part.value;
  Begin(html, "shares", kSparkHeight / 4, label);
  WriteRectangle(html, "whole", 0, 0, kWidth, kSparkHeight / 4);
  double x = 0;
  for (const BarPart& part : parts) {
    if (part.value <= 0) continue;
    const double width = part.value / total * kWidth;
    WriteRectangle(html, part.css_class, x, 0, width, kSparkHeight / 4);
    x += width;
  }
  html.Raw("</svg>");
}

}  // namespace hearth::server
