// What every page of the status has: its head, the header with the server's state, the footer; and pieces that several
// pages are made of.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "proto/status.pb.h"
#include "server/status/charts.h"
#include "server/status/html.h"

namespace hearth::server {

struct PageFrame {
  std::string title;
  std::string state;                     // of the server, or of the version that the page is about: "READY"
  std::function<void(Html&)> json_link;  // writes the path of the page's JSON
};

// A whole page, whose <main> `content` writes.
std::string FramedPage(const PageFrame& frame, const std::function<void(Html&)>& content);

// The link to a version's page.
void WriteModelPath(Html& html, const v1::ModelStatus& model);

// A state, in a colour and in words.
void WriteState(Html& html, std::string_view state);

// A number with a name above, and perhaps the last minutes below.
struct Figure {
  Html::Markup name;
  std::string value;
  std::string_view note = {};
  const Values* history = nullptr;
  std::string_view history_label = {};
};
void WriteFigure(Html& html, const Figure& figure);

// A row of a list of facts; how it is marked where something is wrong.
void WriteFact(Html& html, Html::Markup name, std::string_view value, bool is_bad = false);

// Values of a traffic's points: answers a second; the percentile of the points that have one.
Values RatesOf(const v1::Traffic& traffic);
Values FailureRatesOf(const v1::Traffic& traffic);
Values LatenciesOf(const v1::Traffic& traffic, double (v1::Latency::*percentile)() const);

// The rate of the last interval.
double LatestRate(const v1::Traffic& traffic);

// "-" where there is none.
std::string LatencyTextOf(const v1::Traffic& traffic, double (v1::Latency::*percentile)() const);

}  // namespace hearth::server
