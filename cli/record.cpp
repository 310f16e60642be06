// hearth record: live requests of a served model into a file (record_file.h), for hearth replay.

#include <pthread.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/record_file.h"
#include "cli/text.h"
#include "proto/hearth.grpc.pb.h"
#include "wire/figures.h"

namespace hearth::cli {
namespace {

constexpr const char* kRecord = "record";

struct RecordOptions {
  ServerOptions server;
  Target target;
  std::string output;
  uint64_t requests = 0;
  double seconds = 60;
  uint64_t max_bytes = uint64_t{256} << 20;
  bool answers = false;
};

// Calls `interrupted` for the first SIGINT or SIGTERM that comes while it is there, which do not end the process then.
// Made before other threads are.
class Interruption {
 public:
  explicit Interruption(std::function<void()> interrupted)
      : thread_([interrupted = std::move(interrupted), signals = Block()](const std::stop_token& stop) {
          constexpr timespec kLook = {.tv_sec = 0, .tv_nsec = 50'000'000};
          while (!stop.stop_requested()) {
            if (::sigtimedwait(&signals, nullptr, &kLook) < 0) continue;
            interrupted();
            return;
          }
        }) {}

 private:
  static sigset_t Block() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    return signals;
  }

  std::jthread thread_;
};

struct Recorded {
  v1::RecordEnd end;
  bool has_end = false;
  uint64_t requests = 0;
  uint64_t lost = 0;
};

absl::Status CopyStream(grpc::ClientReader<v1::RecordPart>& stream, RecordWriter& writer, Recorded& recorded) {
  v1::RecordPart record;
  while (stream.Read(&record)) {
    if (absl::Status status = writer.Write(record); !status.ok()) return status;
    if (record.has_request()) {
      ++recorded.requests;
      recorded.lost = record.request().lost();
    } else if (record.has_end()) {
      recorded.has_end = true;
      recorded.end = record.end();
      recorded.lost = record.end().lost();
    }
  }
  return absl::OkStatus();
}

void PrintRecorded(const RecordOptions& options, const RecordWriter& writer, const Recorded& recorded) {
  std::printf("%s requests, %s in %s: %s\n", CountText(recorded.requests).c_str(), MemoryText(writer.bytes()).c_str(),
              options.output.c_str(), EscapeLine(recorded.end.reason()).c_str());
  if (recorded.lost == 0) return;
  std::printf("%s requests are not in it, since they came faster than they were written\n",
              CountText(recorded.lost).c_str());
}

int Record(RecordOptions& options) {
  if (const absl::Status status = ReadTarget(options.target, options.server); !status.ok()) {
    return FailWithLine(kRecord, MessageOf(status));
  }
  std::mutex mutex;
  bool interrupted = false;
  grpc::ClientContext context;
  const Interruption interruption([&] {
    {
      const std::lock_guard lock(mutex);
      interrupted = true;
    }
    context.TryCancel();
  });
  // The stream ends when the time is over.
  options.server.timeout += options.seconds;
  const auto connection = Connection::Open(options.server);
  if (!connection.ok()) return FailWithLine(kRecord, MessageOf(connection.status()));
  const auto stub = v1::ModelService::NewStub(connection->channel());
  v1::RecordRequest request;
  request.set_model(options.server.model);
  request.set_version(options.server.version);
  request.set_requests(options.requests);
  request.set_seconds(options.seconds);
  request.set_bytes(options.max_bytes);
  request.set_answers(options.answers);
  connection->Prepare(context);
  const auto stream = stub->Record(&context, request);
  // What the server refuses leaves a file of that name as it is.
  v1::RecordPart header;
  if (!stream->Read(&header)) return FailWithLine(kRecord, MessageOf(FromGrpc(stream->Finish())));
  auto writer = RecordWriter::Create(options.output);
  absl::Status status = writer.status();
  if (status.ok()) status = writer->Write(header);
  Recorded recorded;
  if (status.ok()) status = CopyStream(*stream, *writer, recorded);
  if (!status.ok()) {
    context.TryCancel();
    (void)stream->Finish();
    return FailWithLine(kRecord, MessageOf(status));
  }
  const absl::Status ended = FromGrpc(stream->Finish());
  if (!recorded.has_end) {
    const std::lock_guard lock(mutex);
    if (!interrupted) status = ended.ok() ? absl::DataLossError("the server sent no end") : ended;
    v1::RecordPart last;
    recorded.end.set_reason(interrupted ? "it was interrupted" : MessageOf(status));
    recorded.end.set_requests(recorded.requests);
    recorded.end.set_lost(recorded.lost);
    *last.mutable_end() = recorded.end;
    if (const absl::Status written = writer->Write(last); !written.ok()) {
      return FailWithLine(kRecord, MessageOf(written));
    }
  }
  if (const absl::Status closed = writer->Close(); !closed.ok()) return FailWithLine(kRecord, MessageOf(closed));
  PrintRecorded(options, *writer, recorded);
  if (!status.ok()) return FailWithLine(kRecord, MessageOf(status));
  return recorded.requests > 0 ? kSuccess : FailWithLine(kRecord, "no request was recorded");
}

}  // namespace

Action AddRecord(CLI::App& app) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* command = app.add_subcommand(kRecord, "Records live requests of a served model into a file");
  AddTarget(*command, options->target);
  command->add_option("--model-version", options->server.version,
                      "What this version answers; any version if not given");
  command->add_option("--output", options->output, "The file")->type_name("FILE")->required();
  command->add_option("--requests", options->requests, "So many requests at most; any number if not given")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40));
  command->add_option("--seconds", options->seconds, "So long at most")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  command->add_option("--max-bytes", options->max_bytes, "So many bytes of messages at most (256MiB)")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  command->add_flag("--answers", options->answers, "Record answers too, for hearth replay --compare");
  AddConnectionOptions(*command, options->server);
  return [options] { return Record(*options); };
}

}  // namespace hearth::cli
