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

}  // namespace hearth::cli
