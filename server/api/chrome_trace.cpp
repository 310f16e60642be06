#include "server/api/chrome_trace.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

using TimePoint = std::chrono::steady_clock::time_point;
using Json = nlohmann::ordered_json;

// What the GPU did has a track of its own for each thread that asked for it, numbered from here.
constexpr size_t kFirstDeviceTrack = 1'000'000;

double Microseconds(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) * 1e-3; }

class TraceWriter {
 public:
  // Times are told since `start`.
  explicit TraceWriter(TimePoint start) : start_(start) {}

  void Name(const char* what, size_t thread, const std::string& name) {
    Add({{"ph", "M"}, {"pid", 1}, {"tid", thread}, {"name", what}, {"args", {{"name", name}}}});
  }

  void Slice(const std::string& name, const char* category, size_t thread, TimePoint begin,
             std::chrono::nanoseconds time, Json arguments) {
    Add({{"ph", "X"},
         {"pid", 1},
         {"tid", thread},
         {"name", name},
         {"cat", category},
         {"ts", Microseconds(begin - start_)},
         {"dur", Microseconds(time)},
         {"args", std::move(arguments)}});
  }

  std::string Take() { return absl::StrCat("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", text_, "]}"); }

 private:
  // Names of models and their code may hold any bytes.
  void Add(const Json& event) {
    absl::StrAppend(&text_, text_.empty() ? "" : ",\n", event.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  const TimePoint start_;
  std::string text_;
};

}  // namespace

ChromeTrace WriteChromeTrace(const std::string& process, const std::vector<ProfiledCall>& calls) {
  TimePoint start = TimePoint::max();
  for (const ProfiledCall& call : calls) start = std::min(start, call.began);
  TraceWriter writer(start);
  ChromeTrace trace;
  std::set<size_t> threads, device_threads;
  writer.Name("process_name", 0, process);
  for (const ProfiledCall& call : calls) {
    for (const CallReport::Run& run : call.report->runs) {
      const size_t thread = run.events.empty() ? 0 : run.events.front().thread;
      threads.insert(thread);
      Json arguments = {{"tier", run.tier}, {"arguments", run.arguments}};
      if (!run.bailouts.empty()) arguments["left its plan"] = run.bailouts;
      writer.Slice(run.method, "call", thread, call.began, call.ended - call.began, std::move(arguments));
      for (const CallReport::Event& event : run.events) {
        threads.insert(event.thread);
        writer.Slice(event.name, "operator", event.thread, event.start, event.time, {{"where", event.where}});
        ++trace.operators;
        if (event.device_time.count() == 0) continue;
        device_threads.insert(event.thread);
        writer.Slice(event.name, "GPU", kFirstDeviceTrack + event.thread, event.device_start, event.device_time,
                     {{"where", event.where}});
      }
    }
  }
  for (const size_t thread : threads) writer.Name("thread_name", thread, absl::StrCat("thread ", thread));
  for (const size_t thread : device_threads) {
    writer.Name("thread_name", kFirstDeviceTrack + thread, absl::StrCat("GPU, asked by thread ", thread));
  }
  trace.json = writer.Take();
  return trace;
}

}  // namespace hearth::server
