#include "server/command_line.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "jit/support/version.h"
#include "server/check.h"
#include "server/nearest_name.h"
#include "server/settings.h"
#include "server/settings_file.h"
#include "server/settings_page.h"
#include "server/settings_schema.h"
#include "server/triton_flags.h"

namespace hearth::server {
namespace {

constexpr const char* kAbout = "hearthd serves TorchScript archives over the Open Inference Protocol v2.";
// Under this name hearthd listens where Triton does, unless told otherwise: start lines made for that name a host in
// none.
constexpr const char* kTritonProgram = "tritonserver";
constexpr const char* kTritonHost = "0.0.0.0";
constexpr const char* kTritonGroup = "Flags of Triton's that have no effect or are refused";

// A flag for the setting; its value goes to `settings`.
void AddFlag(CLI::App& app, const SettingField& field, config::Settings& settings) {
  const bool is_switch = field.field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_BOOL;
  const auto set = [&field, &settings, is_switch](const CLI::results_t& values) {
    for (const std::string& value : values) {
      // CLI11 has an empty value where the flag stands alone, or a default_str: so there is none.
      const absl::Status status = SetFromText(field, is_switch && value.empty() ? "true" : value, settings);
      if (!status.ok()) throw CLI::ValidationError(absl::StrCat(field.flag, ": ", std::string(status.message())));
    }
    return true;
  };
  CLI::Option* option = app.add_option(absl::StrJoin(field.flags, ","), set, field.setting->help());
  const std::string standard = TextOf(field, config::Settings::default_instance());
  option->type_name(absl::StrCat(ValueName(field), standard.empty() ? "" : absl::StrCat(" [", standard, "]")));
  option->group(field.group);
  if (field.field->is_repeated()) {
    option->take_all()->expected(1);
  } else {
    option->take_last();
  }
  if (is_switch) option->expected(0, 1);
}

// Its warning goes to `warnings`.
void AddTritonFlag(CLI::App& app, const TritonFlag& flag, std::vector<std::string>& warnings) {
  const auto judge = [&flag, &warnings](const CLI::results_t& values) {
    for (const std::string& value : values) {
      const auto warning = JudgeTritonFlag(flag, flag.is_switch && value.empty() ? "true" : value);
      if (!warning.ok()) throw CLI::ValidationError(std::string(warning.status().message()));
      if (!warning->empty()) warnings.push_back(*warning);
    }
    return true;
  };
  CLI::Option* option = app.add_option(flag.flag, judge, flag.meaning->why());
  option->group(kTritonGroup)->type_name("")->take_all()->expected(1);
  if (flag.is_switch) option->take_last()->expected(0, 1);
}

// Triton's other way to say how large the response cache is: local,size=BYTES.
void AddCacheConfig(CLI::App& app, config::Settings& settings) {
  const auto set = [&settings](const CLI::results_t& values) {
    for (const std::string& value : values) {
      absl::string_view number = value;
      int64_t size = 0;
      if (!absl::ConsumePrefix(&number, "local,size=") || !absl::SimpleAtoi(number, &size)) {
        throw CLI::ValidationError(absl::StrCat("--cache-config: '", value, "' is not local,size=BYTES"));
      }
      settings.set_response_cache_byte_size(size);
    }
    return true;
  };
  app.add_option("--cache-config", set, "The same as --response-cache-byte-size BYTES: local,size=BYTES")
      ->type_name("TEXT")
      ->group("Requests")
      ->take_all()
      ->expected(1);
}

// What a setting says that another one turns off.
void WarnOfSettingsWithoutEffect(const config::Settings& given, std::vector<std::string>& warnings) {
  if (given.load_model_size() > 0 && given.model_control_mode() != "explicit") {
    warnings.push_back("load_model has no effect: model_control_mode is not explicit");
  }
  if (given.unload_idle_models() && given.model_memory_bytes() == 0 && given.model_gpu_memory_bytes() == 0) {
    warnings.push_back(
        "unload_idle_models has no effect: model_memory_bytes and model_gpu_memory_bytes are 0, which is no limit");
  }
  if (given.has_repository_poll_secs() && given.model_control_mode() != "poll") {
    warnings.push_back("repository_poll_secs has no effect: model_control_mode is not poll");
  }
}

// Of what no flag took.
absl::Status Unexpected(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining();
  const auto flag = std::ranges::find_if(rest, [](const std::string& argument) { return argument.starts_with("-"); });
  if (flag == rest.end()) return absl::InvalidArgumentError(absl::StrCat("unexpected argument '", rest.front(), "'"));
  const std::string name = flag->substr(0, flag->find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& known : option->get_lnames()) names.push_back(absl::StrCat("--", known));
  }
  const std::string nearest = NearestName(name, names);
  return absl::InvalidArgumentError(
      absl::StrCat("there is no flag ", name, nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
}

// Of settings that are to be checked: all that is wrong with them, with its place in the file of settings unless it
// came with a flag.
CommandLine CheckedSettings(config::Settings given, const config::Settings& flags, const std::string& file,
                            std::vector<std::string> warnings) {
  CommandLine line{.warnings = std::move(warnings), .check = true};
  for (const absl::Status& problem : FindProblems(given)) {
    const std::string message(problem.message());
    const bool is_of_flag = std::ranges::any_of(Fields(), [&](const SettingField& field) {
      return IsSet(field, flags) && message.starts_with(absl::StrCat(field.field->name(), " "));
    });
    line.problems.push_back(file.empty() || is_of_flag ? message : Located(file, message));
  }
  WarnOfSettingsWithoutEffect(given, line.warnings);
  line.settings = std::move(given);
  return line;
}

// `flags` over `file`; a list of the one takes the place of the other's.
config::Settings Merge(config::Settings file, const config::Settings& flags) {
  for (const SettingField& field : Fields()) {
    if (IsSet(field, flags)) file.GetReflection()->ClearField(&file, field.field);
  }
  file.MergeFrom(flags);
  return file;
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  const std::string program = std::filesystem::path(argc > 0 ? argv[0] : "hearthd").filename().string();
  CLI::App app(kAbout, program);
  config::Settings flags;
  std::string file;
  bool check = false;
  bool print_settings = false;
  bool print_triton_flags = false;
  std::vector<std::string> warnings;
  app.add_option("--config", file, "File of the same settings in Protobuf's text format; flags win over it")
      ->type_name("FILE");
  app.add_flag("--check", check,
               "Say all that is wrong with settings and models, and end: with status 0 if that is nothing, else 1");
  app.add_flag("--print-settings", print_settings, "Print the table of all settings in Markdown");
  app.add_flag("--print-triton-flags", print_triton_flags, "Print what becomes of Triton's other flags in Markdown");
  app.set_version_flag("--version", absl::StrCat("hearthd ", kVersion));
  for (const SettingField& field : Fields()) AddFlag(app, field, flags);
  AddCacheConfig(app, flags);
  for (const TritonFlag& flag : TritonFlags()) AddTritonFlag(app, flag, warnings);
  app.allow_extras();
  try {
    app.parse(argc, const_cast<char**>(argv));
  } catch (const CLI::CallForHelp&) {
    return CommandLine{.print = app.help()};
  } catch (const CLI::CallForVersion& version) {
    return CommandLine{.print = absl::StrCat(version.what(), "\n")};
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  if (app.remaining_size() > 0) return Unexpected(app);
  if (print_settings) return CommandLine{.print = SettingsTable()};
  if (print_triton_flags) return CommandLine{.print = TritonFlagsTable()};

  config::Settings given = flags;
  if (!file.empty()) {
    auto settings = ReadSettingsFile(file);
    if (!settings.ok() && check) {
      return CommandLine{.check = true, .problems = {std::string(settings.status().message())}};
    }
    if (!settings.ok()) return settings.status();
    given = Merge(*std::move(settings), flags);
  }
  if (program == kTritonProgram && !given.has_host()) given.set_host(kTritonHost);
  if (check) return CheckedSettings(std::move(given), flags, file, std::move(warnings));
  auto complete = CompleteSettings(given);
  if (!complete.ok()) return complete.status();
  WarnOfSettingsWithoutEffect(*complete, warnings);
  std::string summary = NonDefaultSettings(given, *complete);
  return CommandLine{.settings = *std::move(complete), .warnings = std::move(warnings), .summary = std::move(summary)};
}

}  // namespace hearth::server
