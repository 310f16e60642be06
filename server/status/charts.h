// Small charts as SVG within a page. They have classes where style.css gives them colours, and sizes of their own
// alone: the page's style stretches them. Each says in words what it shows, for who does not see it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "server/status/html.h"

namespace hearth::server {

// Values at equal distances, the latest last; nothing where there is none.
using Values = std::vector<std::optional<double>>;

// A line over the time that a TrafficHistory covers, the latest value at the right.
void WriteSparkline(Html& html, const Values& values, std::string_view label);

// Several lines over that time, with the same scale.
struct ChartLine {
  Html::Markup css_class;
  Values values;
};
void WriteLineChart(Html& html, const std::vector<ChartLine>& lines, double top, std::string_view label);

// A bar for each value.
void WriteBars(Html& html, const std::vector<double>& values, std::string_view label);

// One bar of parts that make up a whole; nothing is drawn of parts that are all 0.
struct BarPart {
  Html::Markup css_class;
  double value = 0;
};
void WriteSharesBar(Html& html, const std::vector<BarPart>& parts, std::string_view label);

// The largest value; 0 if there is none.
double LargestOf(const Values& values);

}  // namespace hearth::server
