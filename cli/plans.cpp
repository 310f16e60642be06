#include "cli/plans.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "cli/failure.h"
#include "cli/json.h"
#include "cli/tensor_facts.h"
#include "cli/text.h"
#include "proto/hearth.grpc.pb.h"

namespace hearth::cli {
namespace {

constexpr const char* kInspectPlans = "inspect";

std::string StateText(const v1::Plan& plan) { return absl::AsciiStrToLower(v1::Plan::State_Name(plan.state())); }

Json PlanToJson(const v1::Plan& plan, bool graphs) {
  Json json = {{"method", plan.method()},
               {"arguments", plan.arguments()},
               {"state", StateText(plan)},
               {"tier", plan.tier()},
               {"sizes", plan.sizes()},
               {"calls", plan.calls()},
               {"compile_seconds", plan.compile_seconds()},
               {"bytes", plan.bytes()},
               {"guards", plan.guards()},
               {"bailouts", plan.bailouts()},
               {"guard_failures", plan.guard_failures()},
               {"model_exceptions", plan.model_exceptions()},
               {"plan_exceptions", plan.plan_exceptions()},
               {"recording", plan.recording()}};
  json["exceptions"] = Json::array();
  for (const v1::Plan::Exception& exception : plan.exceptions()) {
    json["exceptions"].push_back({{"operator", exception.operator_()},
                                  {"node", exception.node()},
                                  {"where", exception.where()},
                                  {"text", exception.text()},
                                  {"runs", exception.runs()}});
  }
  json["claims"] = Json::array();
  for (const v1::Plan::Claim& claim : plan.claims()) {
    json["claims"].push_back({{"text", claim.text()}, {"where", claim.where()}, {"failures", claim.failures()}});
  }
  if (!graphs) return json;
  json["graph"] = plan.graph();
  json["kernels"] = Json::array();
  for (const v1::Plan::Kernel& kernel : plan.kernels()) {
    json["kernels"].push_back({{"results", kernel.results()},
                               {"code", kernel.code()},
                               {"bytes", kernel.bytes()},
                               {"set_aside", kernel.set_aside()}});
  }
  return json;
}

void PrintPlan(const v1::Plan& plan) {
  std::printf("%s(%s)\n  %s, about %llu calls", plan.method().c_str(), plan.arguments().c_str(),
              StateText(plan).c_str(), static_cast<unsigned long long>(plan.calls()));
  if (plan.state() == v1::Plan::COMPILED) {
    std::printf("; tier %u", plan.tier());
    if (!plan.sizes().empty()) std::printf(" for %s alone", plan.sizes().c_str());
    std::printf("; compiled in %.1f ms, %.1f kB, %u guards, %llu bailouts", plan.compile_seconds() * 1e3,
                static_cast<double>(plan.bytes()) / 1e3, plan.guards(),
                static_cast<unsigned long long>(plan.bailouts()));
    if (plan.bailouts() > 0) {
      std::printf(" (%llu guards failed, %llu exceptions of the model's own, %llu of the plan alone)",
                  static_cast<unsigned long long>(plan.guard_failures()),
                  static_cast<unsigned long long>(plan.model_exceptions()),
                  static_cast<unsigned long long>(plan.plan_exceptions()));
    }
  }
  std::printf("\n");
  if (!plan.recording().empty()) std::printf("  recorded: %s\n", plan.recording().c_str());
  for (const v1::Plan::Claim& claim : plan.claims()) {
    std::printf("  speculates on: %s (%s), wrong %llu times\n", claim.text().c_str(), claim.where().c_str(),
                static_cast<unsigned long long>(claim.failures()));
  }
  for (const v1::Plan::Exception& exception : plan.exceptions()) {
    std::printf("  the plan alone raised %llu times: %s%s%s: %s\n    %s\n",
                static_cast<unsigned long long>(exception.runs()), exception.operator_().c_str(),
                exception.where().empty() ? "" : ", at ", exception.where().c_str(), exception.text().c_str(),
                exception.node().c_str());
  }
  std::printf("%s", plan.graph().c_str());
  for (const v1::Plan::Kernel& kernel : plan.kernels()) {
    std::printf("\nkernel of %s, %s of machine code%s:\n%s", absl::StrJoin(kernel.results(), "; ").c_str(),
                BytesText(kernel.bytes()).c_str(), kernel.set_aside() ? ", set aside for wrong results" : "",
                kernel.code().c_str());
  }
}

// A line for the model and for what of it is being compiled, then its argument specs, the one called most first,
// and again for each further plan.
void PrintAll(const v1::ListPlansResponse& response) {
  std::vector<const v1::Plan*> plans;
  uint64_t bytes = 0;
  size_t made = 0;
  std::set<std::pair<std::string, std::string>> kinds, compiled;
  for (const v1::Plan& plan : response.plans()) {
    plans.push_back(&plan);
    bytes += plan.bytes();
    kinds.emplace(plan.method(), plan.arguments());
    if (plan.state() != v1::Plan::COMPILED) continue;
    compiled.emplace(plan.method(), plan.arguments());
    ++made;
  }
  std::ranges::stable_sort(plans, std::greater(), &v1::Plan::calls);
  std::printf("%s version %s: %zu argument specs, %zu with a plan; %zu plans, %s\n", response.model().c_str(),
              response.version().c_str(), kinds.size(), compiled.size(), made, BytesText(bytes).c_str());
  for (const v1::Compilation& compilation : response.compiling()) {
    std::printf("compiling %s since %.1f s, in %s (%s)%s\n", compilation.method().c_str(), compilation.seconds(),
                compilation.stage().c_str(), compilation.pass().empty() ? "no pass yet" : compilation.pass().c_str(),
                compilation.resting() ? ", which rests: the compiler's share of the processor is used up" : "");
  }
  for (const v1::Plan* plan : plans) PrintPlan(*plan);
}

}  // namespace

int PrintPlans(const ServerOptions& server, bool graphs, bool json) {
  const auto connection = Connection::Open(server);
  if (!connection.ok()) return FailWithLine(kInspectPlans, MessageOf(connection.status()));
  const auto stub = v1::ModelService::NewStub(connection->channel());
  v1::ListPlansRequest request;
  request.set_model(server.model);
  request.set_version(server.version);
  request.set_graphs(graphs);
  v1::ListPlansResponse response;
  const absl::Status status = connection->Call(*stub, &v1::ModelService::Stub::ListPlans, request, response);
  if (!status.ok()) return FailWithStatus(kInspectPlans, status);
  if (json) {
    Json plans = Json::array();
    for (const v1::Plan& plan : response.plans()) plans.push_back(PlanToJson(plan, graphs));
    Json compiling = Json::array();
    for (const v1::Compilation& compilation : response.compiling()) {
      compiling.push_back({{"method", compilation.method()},
                           {"stage", compilation.stage()},
                           {"pass", compilation.pass()},
                           {"seconds", compilation.seconds()},
                           {"resting", compilation.resting()}});
    }
    PrintJson({{"model", response.model()},
               {"version", response.version()},
               {"plans", std::move(plans)},
               {"compiling", std::move(compiling)}});
    return kSuccess;
  }
  PrintAll(response);
  return kSuccess;
}

}  // namespace hearth::cli
