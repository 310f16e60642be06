// hearth bench: how fast a server answers one request that is sent over and over (load_generator.h).

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/json.h"
#include "cli/load_generator.h"
#include "cli/load_report.h"
#include "cli/request_inputs.h"
#include "cli/text.h"
#include "cli/value_summary.h"
#include "proto/inference/service.grpc.pb.h"

namespace hearth::cli {
namespace {

constexpr const char* kBench = "bench";
constexpr const char* kMethod = "/inference.GRPCInferenceService/ModelInfer";

struct BenchOptions {
  ServerOptions server;
  Target target;
  InputOptions inputs;
  LoadOptions load;
  int clients = 0;
  int connections = 1;
  bool json = false;
};

void PrintResultAsJson(const BenchOptions& options, const LoadResult& result) {
  Json json = {{"model", options.server.model}};
  if (options.load.rate > 0) {
    json["rate"] = options.load.rate;
  } else {
    json["clients"] = options.load.clients;
  }
  AddLoadFields(options.load, result, json);
  PrintJson(json);
}

void PrintResult(const BenchOptions& options, const LoadResult& result) {
  const std::string loop = options.load.rate > 0 ? absl::StrFormat("%g requests a second", options.load.rate)
                                                 : absl::StrCat(options.load.clients, " clients");
  std::vector<std::vector<std::string>> rows = {{"load", loop}};
  AddLoadRows(options.load, result, rows);
  std::fputs(AlignColumns(rows).c_str(), stdout);
}

int Bench(BenchOptions& options) {
  if (const absl::Status status = ReadTarget(options.target, options.server); !status.ok()) {
    return FailWithLine(kBench, MessageOf(status));
  }
  if (options.inputs.random && !options.inputs.inputs.empty()) {
    return FailWithLine(kBench, "--input and --random exclude each other");
  }
  // Unlike a single request, whose answer is looked at, this one may be of anything.
  options.inputs.random = options.inputs.inputs.empty();
  options.load.clients = options.clients > 0 ? options.clients : options.load.rate > 0 ? kMostUnderWay : 1;
  std::vector<Connection> connections;
  for (int i = 0; i < options.connections; ++i) {
    auto connection = Connection::Open(options.server);
    if (!connection.ok()) return FailWithLine(kBench, MessageOf(connection.status()));
    connections.push_back(*std::move(connection));
  }
  const auto stub = inference::GRPCInferenceService::NewStub(connections[0].channel());
  const auto model = AskInputs(connections[0], *stub, options.server);
  if (!model.ok()) return FailWithLine(kBench, absl::StrCat(options.server.address, ": ", model.status().message()));
  const auto inputs = MakeInputs(options.inputs, *model);
  if (!inputs.ok()) return FailWithLine(kBench, MessageOf(inputs.status()));
  const inference::ModelInferRequest request = MakeRequest(options.server, *inputs);
  // What fails once fails each time: said as `hearth infer` says it.
  inference::ModelInferResponse response;
  const absl::Status first =
      connections[0].Call(*stub, &inference::GRPCInferenceService::Stub::ModelInfer, request, response);
  if (!first.ok()) return FailWithStatus(kBench, first);

  const grpc::Slice bytes(request.SerializeAsString());
  const LoadResult result = GenerateLoad(connections, kMethod, grpc::ByteBuffer(&bytes, 1), options.load);
  if (options.json) {
    PrintResultAsJson(options, result);
  } else {
    PrintResult(options, result);
  }
  return result.latencies.count() > 0 ? kSuccess : kBadUse;
}

}  // namespace

Action AddBench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* bench = app.add_subcommand(kBench, "Sends one request over and over, and measures the answers");
  AddTarget(*bench, options->target);
  bench->add_option("--model-version", options->server.version, "Its version; the server's choice if not given");
  AddInputOptions(*bench, options->inputs);
  bench
      ->add_option("--clients", options->clients,
                   absl::StrCat("Clients that each send the next request when they have the answer (1); with --rate, "
                                "requests that may be under way (",
                                kMostUnderWay, ")"))
      ->check(CLI::Range(1, 100000));
  bench->add_option("--rate", options->load.rate, "Send so many requests a second, whatever the answers do")
      ->check(CLI::Range(0.001, 1e7));
  bench->add_option("--seconds", options->load.seconds, "How long to measure")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  bench->add_option("--warm-up", options->load.warm_up, "Seconds of load before, which are not measured")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  bench->add_option("--requests", options->load.requests, "End after so many measured requests");
  bench->add_option("--connections", options->connections, "Connections that take turns")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  bench->add_flag("--json", options->json, "Print the result as JSON");
  AddConnectionOptions(*bench, options->server);
  return [options] { return Bench(*options); };
}

}  // namespace hearth::cli
