// hearth top: how a server is doing, in a terminal, again and again.

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/text.h"
#include "proto/status.grpc.pb.h"
#include "wire/figures.h"

namespace hearth::cli {
namespace {

constexpr const char* kTop = "top";
constexpr const char* kNothing = "-";

struct TopOptions {
  ServerOptions server;
  double interval = 2;  // seconds
  bool once = false;
};

// Columns of a terminal that the text takes; what is no ASCII takes one a character here.
size_t WidthOf(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

// The first columns of a line.
std::string_view CutTo(std::string_view line, size_t width) {
  size_t columns = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if ((line[i] & 0xc0) != 0x80 && columns++ == width) return line.substr(0, i);
  }
  return line;
}

struct Column {
  std::string name;
  bool is_number = true;  // aligned at the right
};

// A line for the names and one for each row, in columns that are as wide as their widest cell.
std::string Table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns.size(); ++i) {
    widths.push_back(WidthOf(columns[i].name));
    for (const auto& row : rows) widths[i] = std::max(widths[i], WidthOf(row[i]));
  }
  std::string text;
  const auto append = [&](const std::function<std::string(size_t)>& cell) {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string content = cell(i);
      const std::string space(widths[i] - WidthOf(content), ' ');
      absl::StrAppend(&line, i == 0 ? "" : "  ", columns[i].is_number ? space : "", content,
                      columns[i].is_number ? "" : space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  };
  append([&](size_t i) { return columns[i].name; });
  for (const auto& row : rows) append([&](size_t i) { return row[i]; });
  return text;
}

double LatestRate(const v1::Traffic& traffic) {
  if (traffic.points().empty() || traffic.interval_seconds() <= 0) return 0;
  return static_cast<double>(traffic.points().rbegin()->requests()) / traffic.interval_seconds();
}

std::string LatencyOf(const v1::Traffic& traffic, double (v1::Latency::*percentile)() const) {
  return traffic.has_latency() ? LatencyText((traffic.latency().*percentile)()) : kNothing;
}

std::string LowerState(std::string_view state) {
  return absl::AsciiStrToLower(absl::string_view(state.data(), state.size()));
}

std::string CompiledShare(const v1::ModelStatus& model) {
  uint64_t all = 0;
  for (const uint64_t calls : model.calls_by_tier()) all += calls;
  if (all == 0) return kNothing;
  return ShareText(1 - static_cast<double>(model.calls_by_tier(0)) / static_cast<double>(all));
}

std::string ServerSummary(const v1::ServerStatusResponse& status) {
  const v1::Traffic& traffic = status.traffic();
  const v1::CompilerStatus& compiler = status.compiler();
  int64_t pending = 0, in_flight = 0;
  uint64_t guards = 0;
  for (const v1::ModelStatus& model : status.models()) {
    pending += model.pending();
    in_flight += model.in_flight();
    guards += model.guard_failures();
  }
  const double processors = status.process().empty() ? 0 : status.process().rbegin()->processors();
  const std::string state = status.draining() ? "draining" : status.ready() ? "ready" : "not ready";
  return absl::StrCat(EscapeLine(status.name()), " ", EscapeLine(status.version()), ", ", state, ", models on ",
                      EscapeLine(status.device()), ", up ", AgeText(status.uptime_seconds()), "\n", "requests ",
                      RateText(LatestRate(traffic)), "/s, failures ", RateText(traffic.failures_per_second()),
                      "/s, median ", LatencyOf(traffic, &v1::Latency::p50), ", 99th ",
                      LatencyOf(traffic, &v1::Latency::p99), ", in flight ", in_flight, ", waiting ", pending, "\n",
                      "processors ", RateText(processors), ", memory ", MemoryText(status.memory().resident_bytes()),
                      ", plans waiting ", compiler.queued(), ", compiling ", compiler.running(), ", failed ",
                      compiler.failed(), ", kernels waiting ", compiler.kernels_waiting(), ", guards failed ",
                      CountText(guards), "\n");
}

// Empty where models run on none.
std::string GpuTable(const v1::ServerStatusResponse& status) {
  std::string text;
  if (status.gpus_lost() > 0) {
    text = absl::StrCat("GPUs that the driver does not reach: ", CountText(status.gpus_lost()), "\n\n");
  }
  std::vector<std::vector<std::string>> rows;
  for (const v1::GpuStatus& gpu : status.gpus()) {
    rows.push_back({gpu.name().empty() ? kNothing : EscapeLine(gpu.name()),
                    gpu.has_utilization() ? ShareText(gpu.utilization()) : kNothing,
                    gpu.has_memory_used_bytes() ? MemoryText(gpu.memory_used_bytes()) : kNothing,
                    gpu.has_memory_total_bytes() ? MemoryText(gpu.memory_total_bytes()) : kNothing,
                    gpu.has_power_watts() ? WattsText(gpu.power_watts()) : kNothing,
                    gpu.has_power_limit_watts() ? WattsText(gpu.power_limit_watts()) : kNothing,
                    gpu.has_temperature_celsius() ? CelsiusText(gpu.temperature_celsius()) : kNothing,
                    EscapeLine(gpu.uuid())});
  }
  if (rows.empty()) return text;
  return text +
         Table({{"GPU", false}, {"IN USE"}, {"MEMORY"}, {"OF"}, {"POWER"}, {"LIMIT"}, {"TEMPERATURE"}, {"UUID", false}},
               rows) +
         "\n";
}

// Those with the most requests first.
std::string ModelTable(const v1::ServerStatusResponse& status) {
  std::vector<const v1::ModelStatus*> models;
  for (const v1::ModelStatus& model : status.models()) models.push_back(&model);
  std::ranges::stable_sort(models, std::greater(),
                           [](const v1::ModelStatus* model) { return LatestRate(model->traffic()); });
  std::vector<std::vector<std::string>> rows;
  for (const v1::ModelStatus* model : models) {
    rows.push_back({EscapeLine(model->name()), model->version().empty() ? kNothing : EscapeLine(model->version()),
                    LowerState(EscapeLine(model->state())), RateText(LatestRate(model->traffic())),
                    LatencyOf(model->traffic(), &v1::Latency::p50), LatencyOf(model->traffic(), &v1::Latency::p99),
                    absl::StrCat(model->pending()), absl::StrCat(model->in_flight()), CountText(model->failures()),
                    CompiledShare(*model), MemoryText(model->weight_bytes())});
  }
  return Table({{"MODEL", false},
                {"VERSION", false},
                {"STATE", false},
                {"REQUESTS/s"},
                {"MEDIAN"},
                {"99TH"},
                {"WAITING"},
                {"IN FLIGHT"},
                {"FAILED"},
                {"COMPILED"},
                {"WEIGHTS"}},
               rows);
}

// The last line says what was raised; before it comes the traceback, which the page and the log have.
std::string ErrorTable(const v1::ServerStatusResponse& status) {
  constexpr int kMostErrors = 8;
  std::vector<std::vector<std::string>> rows;
  for (const v1::RecentError& error : status.model_errors()) {
    if (static_cast<int>(rows.size()) == kMostErrors) break;
    const std::string_view message = StripText(error.message());
    rows.push_back({ClockText(error.time_ms()), EscapeLine(error.model()), EscapeLine(error.version()),
                    EscapeLine(error.code()), CountText(error.count()),
                    EscapeLine(message.substr(message.rfind('\n') + 1))});
  }
  if (rows.empty()) return "";
  return "\n" +
         Table({{"ERROR AT", false}, {"MODEL", false}, {"VERSION", false}, {"CODE", false}, {"TIMES"}, {"WHAT", false}},
               rows);
}

std::string Screen(const v1::ServerStatusResponse& status) {
  return absl::StrCat(ServerSummary(status), "\n", GpuTable(status), ModelTable(status), ErrorTable(status));
}

// As much as the terminal shows, in place of what it showed.
void ShowInPlace(const std::string& screen) {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) size = {.ws_row = 24, .ws_col = 80};
  std::string text = "\x1b[H";
  std::vector<std::string_view> lines = SplitText(StripText(screen), '\n');
  if (lines.size() >= size.ws_row) lines.resize(size.ws_row - 1);
  for (const std::string_view line : lines) absl::StrAppend(&text, std::string(CutTo(line, size.ws_col)), "\x1b[K\n");
  std::fputs((text + "\x1b[J").c_str(), stdout);
  std::fflush(stdout);
}

int Top(const TopOptions& options) {
  const auto connection = Connection::Open(options.server);
  if (!connection.ok()) return FailWithLine(kTop, MessageOf(connection.status()));
  const auto stub = v1::StatusService::NewStub(connection->channel());
  const auto ask = [&](v1::ServerStatusResponse& response) {
    return connection->Call(*stub, &v1::StatusService::Stub::ServerStatus, v1::ServerStatusRequest(), response);
  };
  v1::ServerStatusResponse first;
  if (const absl::Status status = ask(first); !status.ok()) return FailWithLine(kTop, MessageOf(status));
  if (options.once) {
    std::fputs(Screen(first).c_str(), stdout);
    return kSuccess;
  }
  std::fputs("\x1b[2J", stdout);
  ShowInPlace(Screen(first));
  for (;;) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
    v1::ServerStatusResponse response;
    // A server that is gone may come back.
    const absl::Status status = ask(response);
    ShowInPlace(status.ok() ? Screen(response) : absl::StrCat("no answer: ", OneLine(MessageOf(status)), "\n"));
  }
}

}  // namespace

Action AddTop(CLI::App& app) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* command = app.add_subcommand("top", "Shows how a server is doing, until it is interrupted");
  AddAddress(*command, options->server);
  command->add_option("--interval", options->interval, "Seconds between two looks")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_flag("--once", options->once, "Print it once, as plain text");
  AddConnectionOptions(*command, options->server);
  return [options] { return Top(*options); };
}

}  // namespace hearth::cli
