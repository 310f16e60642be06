// The settings as people read them: the table of docs/configuration.md, and what a log says of those that were given.
#pragma once

#include <string>

#include "proto/settings.pb.h"

namespace hearth::server {

// Markdown: a heading and a table for each group.
std::string SettingsTable();

// "grpc_port 9000, max_plans 7": what was given and differs from its default, with the value that it has when complete,
// in the schema's order; secrets are not shown. Empty if nothing does.
std::string NonDefaultSettings(const config::Settings& given, const config::Settings& complete);

}  // namespace hearth::server
