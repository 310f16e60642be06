// The subcommands. Each Add* puts its subcommand into the application and gives what runs it once the command line has
// been parsed: it prints to stdout and stderr and gives the process's exit code (cli/failure.h).
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace hearth::cli {

using Action = std::function<int()>;

Action AddInspect(CLI::App& app);
Action AddRun(CLI::App& app);
Action AddInfer(CLI::App& app);
Action AddModels(CLI::App& app);
Action AddLoad(CLI::App& app);
Action AddRollback(CLI::App& app);
Action AddCheck(CLI::App& app);
Action AddUnload(CLI::App& app);
Action AddStats(CLI::App& app);
Action AddConfig(CLI::App& app);
Action AddBench(CLI::App& app);
Action AddTop(CLI::App& app);
Action AddProfile(CLI::App& app);
Action AddRecord(CLI::App& app);
Action AddReplay(CLI::App& app);
// `app` has all other subcommands already.
Action AddCompletion(CLI::App& app);

}  // namespace hearth::cli
