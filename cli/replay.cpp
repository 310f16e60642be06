// hearth replay: sends the requests of a recording (record_file.h) again, in their times, and measures the answers
// (load_generator.h) or compares them with the recorded ones.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/answer_difference.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/json.h"
#include "cli/load_generator.h"
#include "cli/load_report.h"
#include "cli/record_file.h"
#include "cli/text.h"
#include "cli/value_summary.h"
#include "proto/inference/service.pb.h"

namespace hearth::cli {
namespace {

constexpr const char* kReplay = "replay";
constexpr int kDifferences = 1;  // exit code, as of a model that raised
constexpr double kLeastSpeed = 1e-3;
constexpr double kMostSpeed = 1e6;

struct ReplayOptions {
  ServerOptions server;
  std::string file;
  std::string speed = "1";
  LoadOptions load;
  int clients = 0;
  int connections = 1;
  uint64_t requests = 0;
  bool compare = false;
  double tolerance = 1e-3;
  bool json = false;
};

v1::RecordedRequest ReadItem(const RecordContents::Item& item) {
  v1::RecordPart record;
  // It could be read when the file was opened.
  (void)record.ParseFromArray(item.message.data(), static_cast<int>(item.message.size()));
  return std::move(*record.mutable_request());
}

// With which a request may end for what its client or other requests did, and which another time is no other answer.
bool IsOfItsTime(int code) {
  switch (static_cast<absl::StatusCode>(code)) {
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return true;
    default:
      return false;
  }
}

struct Comparison {
  uint64_t compared = 0;
  uint64_t different = 0;  // of them
  double largest = 0;
  std::string first;            // which of the recording's it was, and in what
  uint64_t without_answer = 0;  // recorded ones that ended for reasons of their time; they are not compared
  uint64_t not_comparable = 0;  // an answer that cannot be read
  std::string why_not;          // of the first
};

// Compares answers on a thread of its own, behind the measurement.
class Comparer {
 public:
  Comparer(const RecordContents& contents, double tolerance)
      : contents_(contents), tolerance_(tolerance), thread_([this] { Work(); }) {}

  void Add(uint64_t number, const grpc::Status& status, const grpc::ByteBuffer& answer) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < kMostWaiting; });
    waiting_.push_back({number, status, answer});
    changed_.notify_all();
  }

  Comparison End() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
    return std::move(result_);
  }

 private:
  static constexpr size_t kMostWaiting = 256;

  struct Answer {
    uint64_t number;
    grpc::Status status;
    grpc::ByteBuffer answer;
  };

  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const Answer next = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      changed_.notify_all();
      Compare(next);
      lock.lock();
    }
  }

  void Compare(const Answer& answer) {
    const v1::RecordedRequest recorded = ReadItem(contents_.items[answer.number]);
    if (IsOfItsTime(recorded.code())) {
      ++result_.without_answer;
      return;
    }
    std::string difference;
    if (recorded.code() != static_cast<int>(answer.status.error_code())) {
      const auto name = [](int code) { return absl::StatusCodeToString(static_cast<absl::StatusCode>(code)); };
      difference =
          absl::StrCat("the answer is ", name(answer.status.error_code()), ", recorded was ", name(recorded.code()));
    } else if (answer.status.ok()) {
      const auto found = CompareAnswers(recorded.method(), recorded.answer(), answer.answer, tolerance_);
      if (!found.ok()) {
        if (result_.not_comparable++ == 0) result_.why_not = MessageOf(found.status());
        return;
      }
      result_.largest = std::max(result_.largest, found->largest);
      difference = found->text;
    }
    ++result_.compared;
    if (difference.empty()) return;
    if (result_.different++ == 0 || answer.number < first_) {
      first_ = answer.number;
      result_.first =
          absl::StrFormat("that of %.3f s: %s", static_cast<double>(recorded.arrival_ns()) * 1e-9, difference);
    }
  }

  const RecordContents& contents_;
  const double tolerance_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Answer> waiting_;
  bool ended_ = false;
  // Of the thread alone, until it is joined.
  Comparison result_;
  uint64_t first_ = 0;
  std::thread thread_;
};

// The recorded requests in their order, to another model or version where that is asked for.
class RecordedSource final : public RequestSource {
 public:
  RecordedSource(const RecordContents& contents, const ReplayOptions& options, double speed, Comparer* comparer)
      : contents_(contents), options_(options), speed_(speed), comparer_(comparer) {}

  bool Next(Request& request) override {
    const size_t most = options_.requests > 0 ? options_.requests : contents_.items.size();
    if (next_ >= std::min(most, contents_.items.size())) return false;
    const v1::RecordedRequest recorded = ReadItem(contents_.items[next_]);
    method_ = "/" + recorded.method();
    std::string bytes = recorded.request();
    AppendTarget(bytes);
    const grpc::Slice slice(bytes);
    message_ = grpc::ByteBuffer(&slice, 1);
    request.method = &method_;
    request.message = &message_;
    request.number = next_;
    if (speed_ > 0) {
      const uint64_t since_first = contents_.items[next_].arrival_ns - contents_.items.front().arrival_ns;
      // Beyond what a clock can count: far from any recording's time.
      const double due = std::min(static_cast<double>(since_first) / speed_, 1e18);
      request.due = std::chrono::nanoseconds(static_cast<int64_t>(due));
    }
    ++next_;
    return true;
  }

  void OnAnswer(uint64_t number, const grpc::Status& status, grpc::ByteBuffer& answer) override {
    if (comparer_ != nullptr) comparer_->Add(number, status, answer);
  }

 private:
  // Both protocols have the model as field 1 and its version as field 2, and of a field that is there twice the last
  // one counts.
  void AppendTarget(std::string& bytes) const {
    inference::ModelInferRequest target;
    target.set_model_name(options_.server.model);
    target.set_model_version(options_.server.version);
    target.AppendToString(&bytes);
  }

  const RecordContents& contents_;
  const ReplayOptions& options_;
  const double speed_;  // 0: as fast as may be
  Comparer* const comparer_;
  size_t next_ = 0;
  std::string method_;
  grpc::ByteBuffer message_;
};

// 0: as fast as may be.
absl::StatusOr<double> ReadSpeed(const std::string& text) {
  if (text == "max") return 0;
  double speed = 0;
  // Written so that a NaN is out of bounds.
  if (absl::SimpleAtod(text, &speed) && speed >= kLeastSpeed && speed <= kMostSpeed) return speed;
  return absl::InvalidArgumentError(
      absl::StrFormat("--speed is '%s'; it is 'max' or a number from %g to %g", text, kLeastSpeed, kMostSpeed));
}

// Why the recording cannot be replayed as asked for; else OK.
absl::Status CheckContents(const RecordContents& contents, const ReplayOptions& options) {
  if (contents.items.empty()) return absl::InvalidArgumentError(options.file + ": it has no requests");
  if (options.compare && !contents.header.answers()) {
    return absl::InvalidArgumentError(options.file + ": it has no answers to compare with; record with --answers");
  }
  for (const RecordContents::Item& item : contents.items) {
    const std::string method = ReadItem(item).method();
    if (method == kInferMethod || method == kCallMethod) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(options.file, ": it has a request of '", method, "', which is not replayed"));
  }
  return absl::OkStatus();
}

void PrintReplayAsJson(const ReplayOptions& options, const LoadResult& result, const Comparison* comparison) {
  Json json = {{"file", options.file}, {"speed", options.speed}, {"clients", options.load.clients}};
  AddLoadFields(options.load, result, json);
  if (comparison != nullptr) {
    json["comparison"] = {{"compared", comparison->compared},
                          {"different", comparison->different},
                          {"largest_difference", comparison->largest},
                          {"first_difference", comparison->first},
                          {"without_answer", comparison->without_answer},
                          {"not_comparable", comparison->not_comparable},
                          {"first_not_comparable", comparison->why_not}};
  }
  PrintJson(json);
}

void PrintReplay(const ReplayOptions& options, const LoadResult& result, const Comparison* comparison) {
  std::vector<std::vector<std::string>> rows = {{"load", options.load.timed
                                                             ? absl::StrCat("as recorded, at speed ", options.speed)
                                                             : absl::StrCat(options.load.clients, " clients")}};
  AddLoadRows(options.load, result, rows);
  if (comparison != nullptr) {
    rows.push_back({"compared",
                    absl::StrFormat("%d answers, largest difference %.3g", comparison->compared, comparison->largest)});
    rows.push_back({"different", std::to_string(comparison->different)});
    if (comparison->different > 0) rows.push_back({"", absl::StrCat("the first: ", OneLine(comparison->first))});
    if (comparison->without_answer > 0) {
      rows.push_back({"not compared", absl::StrCat(comparison->without_answer,
                                                   " whose recorded requests were cancelled, late or turned away")});
    }
    if (comparison->not_comparable > 0) {
      rows.push_back(
          {"not comparable", absl::StrCat(comparison->not_comparable, "; the first: ", OneLine(comparison->why_not))});
    }
  }
  std::fputs(AlignColumns(rows).c_str(), stdout);
}

int Replay(ReplayOptions& options) {
  const auto speed = ReadSpeed(options.speed);
  if (!speed.ok()) return FailWithLine(kReplay, MessageOf(speed.status()));
  const auto file = RecordFile::Open(options.file);
  absl::Status status = file.status();
  if (status.ok()) status = CheckContents(file->contents(), options);
  if (!status.ok()) return FailWithLine(kReplay, MessageOf(status));
  const RecordContents& contents = file->contents();
  if (!contents.end) {
    std::fprintf(stderr, "hearth replay: %s has no end: its recording was broken off\n", options.file.c_str());
  }
  std::vector<Connection> connections;
  for (int i = 0; i < options.connections; ++i) {
    auto connection = Connection::Open(options.server);
    if (!connection.ok()) return FailWithLine(kReplay, MessageOf(connection.status()));
    connections.push_back(*std::move(connection));
  }
  options.load.timed = *speed > 0;
  options.load.clients = options.clients > 0 ? options.clients : options.load.timed ? kMostUnderWay : 1;
  options.load.warm_up = 0;
  options.load.seconds = 1e8;  // it ends with the last request
  std::unique_ptr<Comparer> comparer;
  if (options.compare) comparer = std::make_unique<Comparer>(contents, options.tolerance);
  RecordedSource source(contents, options, *speed, comparer.get());
  const LoadResult result = GenerateLoad(connections, source, options.load);
  Comparison comparison;
  if (comparer != nullptr) comparison = comparer->End();
  const Comparison* const compared = options.compare ? &comparison : nullptr;
  if (options.json) {
    PrintReplayAsJson(options, result, compared);
  } else {
    PrintReplay(options, result, compared);
  }
  if (comparison.different + comparison.not_comparable > 0) return kDifferences;
  return result.latencies.count() > 0 || options.compare ? kSuccess : kBadUse;
}

}  // namespace

Action AddReplay(CLI::App& app) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* command =
      app.add_subcommand(kReplay, "Sends recorded requests again, and measures or compares the answers");
  command->add_option("FILE", options->file, "What hearth record wrote")->required();
  AddAddress(*command, options->server);
  command->add_option("--speed", options->speed, "So many times as fast as they came; max: as fast as --clients can")
      ->capture_default_str();
  command
      ->add_option("--clients", options->clients,
                   absl::StrCat("Requests that may be under way (", kMostUnderWay, "; with --speed max 1)"))
      ->check(CLI::Range(1, 100000));
  command->add_option("--requests", options->requests, "The first so many alone");
  command->add_option("--model", options->server.model, "Ask this model in place of the recorded one");
  command->add_option("--model-version", options->server.version, "Ask this version or label");
  command->add_flag("--compare", options->compare, "Compare the answers with the recorded ones");
  command->add_option("--tolerance", options->tolerance, "What elements of floating-point tensors may differ by")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command->add_option("--connections", options->connections, "Connections that take turns")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print the result as JSON");
  AddConnectionOptions(*command, options->server);
  return [options] { return Replay(*options); };
}

}  // namespace hearth::cli
