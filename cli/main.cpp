// hearth: look into TorchScript archives, run them, and ask a server.

#include <c10/util/Exception.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/failure.h"

namespace {

int Run(int argc, char** argv) {
  using namespace hearth::cli;
  CLI::App app("Looks into TorchScript archives, runs them, and asks a server.", "hearth");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("hearth ") + HEARTH_VERSION);
  const std::vector<std::pair<const char*, Action>> commands = {
      {"inspect", AddInspect(app)},      {"run", AddRun(app)},       {"infer", AddInfer(app)},
      {"models", AddModels(app)},        {"load", AddLoad(app)},     {"rollback", AddRollback(app)},
      {"unload", AddUnload(app)},        {"stats", AddStats(app)},   {"config", AddConfig(app)},
      {"bench", AddBench(app)},          {"top", AddTop(app)},       {"profile", AddProfile(app)},
      {"record", AddRecord(app)},        {"replay", AddReplay(app)}, {"check", AddCheck(app)},
      {"completion", AddCompletion(app)}};
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    const std::string command = app.get_subcommands().empty() ? "" : app.get_subcommands().front()->get_name();
    std::string message = error.what();
    if (command.empty() && argc > 1) message = "there is no subcommand '" + std::string(argv[1]) + "'";
    return FailWithLine(command, message + " (see `hearth " + command + (command.empty() ? "" : " ") + "--help`)");
  }
  for (const auto& [name, action] : commands) {
    if (app.got_subcommand(name)) return action();
  }
  return kBadUse;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const c10::Error& error) {
    return hearth::cli::FailWithLine("", error.what_without_backtrace());
  } catch (const std::exception& error) {
    return hearth::cli::FailWithLine("", error.what());
  }
}
