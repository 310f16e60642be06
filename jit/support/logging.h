// Logging through spdlog. A logger is named "room" or "room/file" (passes/choose_layouts); levels are set for either at
// run time, by the environment's HEARTH_LOG or by SetLogLevels:
//
//   HEARTH_LOG=passes/choose_layouts=debug,executor=info,warn
//
// A file's own level wins over its room's, the room's over the bare one (here warn); without any it is info.
//
//   spdlog::logger& log = LoggerOf("archive/importer");   // a static of the file, or a member
//   log.debug("{} records", count);
//
// Everything is thread-safe. Loggers live as long as the process. Lines go to stderr until SetLogSink. A message may
// hold what came from outside: it is written there as ForLog (text.h) has it, up to 16 KiB.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <spdlog/logger.h>

namespace hearth {

// The logger of that name, made at the first call. Takes a lock: keep the reference.
spdlog::logger& LoggerOf(const std::string& name);

// Replaces all levels by those of `levels`, in HEARTH_LOG's syntax, for loggers that exist and those to come. Levels
// are trace, debug, info, warn, error, critical, off. Throws std::invalid_argument, changing nothing, for anything
// else.
void SetLogLevels(std::string_view levels);

// Sends the lines of all loggers to `sink` alone; nullptr sends them to stderr again.
void SetLogSink(std::shared_ptr<spdlog::sinks::sink> sink);

}  // namespace hearth
