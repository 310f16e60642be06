// hearth check: whether an archive can be served, what its methods are, and in what it differs from another one.

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/native_call.h"
#include "cli/session.h"
#include "wire/signature_text.h"

namespace hearth::cli {
namespace {

constexpr const char* kCheck = "check";
// The method that hearthd calls.
constexpr const char* kForward = "forward";
// Of a check that went well and found differences.
constexpr int kDiffers = 1;

struct CheckOptions {
  std::string archive;
  std::vector<std::string> against;  // an archive, or address and model
  ServerOptions server;
  SessionOptions session;
};

Descriptions MethodsOf(const Model& model) {
  Descriptions methods;
  for (const MethodInfo& method : model.methods()) {
    methods[method.name] = SignatureText(method.arguments(), method.schema->returns());
  }
  return methods;
}

absl::StatusOr<Descriptions> MethodsOf(Session& session, const std::string& archive) {
  auto model = session.Load(archive, "");
  if (!model.ok()) return model.status();
  return MethodsOf(**model);
}

// Whether requests may be run together, as far as the archive tells; a configuration tells more.
std::string BatchingOf(const Model& model, const MethodInfo& forward) {
  const auto effect = model.SideEffect(kForward);
  if (!effect.ok()) return std::string(effect.status().message());
  if (!effect->empty()) return "not possible, for it " + *effect;
  const auto proof = model.ProveBatch(kForward, std::vector<BatchArgument>(forward.arguments().size()));
  return proof.ok() ? proof->text : std::string(proof.status().message());
}

absl::StatusOr<Descriptions> MethodsBefore(Session& session, CheckOptions& options) {
  if (options.against.size() == 1) return MethodsOf(session, options.against[0]);
  options.server.address = options.against[0];
  options.server.model = options.against[1];
  const auto listed = AskForMethods(options.server);
  if (!listed.ok()) return listed.status();
  Descriptions methods;
  for (const v1::Method& method : listed->methods()) {
    std::vector<ParameterText> parameters;
    for (const auto& argument : method.arguments()) {
      parameters.push_back({argument.type(), argument.name(), argument.has_default_value()});
    }
    methods[method.name()] = SignatureText(parameters, method.return_type());
  }
  return methods;
}

int Check(CheckOptions& options) {
  auto session = Session::Open(options.session);
  if (!session.ok()) return FailWithStatus(kCheck, session.status());
  const auto model = session->Load(options.archive, "");
  if (!model.ok()) return FailWithStatus(kCheck, model.status());
  const Descriptions now = MethodsOf(**model);
  if (!now.contains(kForward)) {
    return FailWithLine(kCheck, options.archive + ": the module has no method 'forward', which hearthd calls");
  }
  if (options.against.empty()) {
    for (const auto& [name, signature] : now) std::printf("%s%s\n", name.c_str(), signature.c_str());
    for (const MethodInfo& method : (*model)->methods()) {
      if (method.name != kForward || method.arguments().empty()) continue;
      std::printf("batches of forward: %s\n", BatchingOf(**model, method).c_str());
    }
    return kSuccess;
  }
  const auto before = MethodsBefore(*session, options);
  if (!before.ok()) return FailWithStatus(kCheck, before.status());
  const std::vector<std::string> differences = Differences("method", *before, now);
  for (const std::string& difference : differences) std::printf("%s\n", difference.c_str());
  return differences.empty() ? kSuccess : kDiffers;
}

}  // namespace

Action AddCheck(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "Says whether an archive can be served, and in what it differs from another");
  command->add_option("archive", options->archive, "The archive")->type_name("ARCHIVE")->required();
  command
      ->add_option("--against", options->against, "Another archive, or a model that a server has: tells what differs")
      ->type_name("ARCHIVE | ADDRESS MODEL")
      ->expected(1, 2);
  command->add_option("--model-version", options->server.version, "The server's version to compare with");
  AddSessionOptions(*command, options->session);
  AddConnectionOptions(*command, options->server);
  return [options] { return Check(*options); };
}

}  // namespace hearth::cli
