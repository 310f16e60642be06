#include "server/settings_page.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "server/settings_schema.h"

namespace hearth::server {
namespace {

std::string Code(const std::string& text) { return absl::StrCat("`", text, "`"); }

std::string Cell(const std::string& text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }

std::string DefaultOf(const SettingField& field) {
  if (field.setting->required()) return "required";
  if (field.setting->has_default_text()) return field.setting->default_text();
  const std::string text = TextOf(field, config::Settings::default_instance());
  return text.empty() ? "none" : Code(text);
}

// "--load-threads N, --model-load-thread-count"
std::string FlagsOf(const SettingField& field) {
  std::string cell = Code(absl::StrCat(field.flag, " ", ValueName(field)));
  for (size_t i = 1; i < field.flags.size(); ++i) absl::StrAppend(&cell, ", ", Code(field.flags[i]));
  return cell;
}

std::string MeaningOf(const config::Setting& setting) {
  std::string meaning = setting.help();
  if (!setting.choice().empty()) {
    absl::StrAppend(
        &meaning, ". One of ",
        absl::StrJoin(setting.choice(), ", ", [](std::string* out, const auto& text) { *out += Code(text); }));
  }
  if (setting.has_more()) absl::StrAppend(&meaning, ". ", setting.more());
  return meaning;
}

}  // namespace

std::string SettingsTable() {
  std::string page;
  std::string group;
  for (const SettingField& field : Fields()) {
    if (field.group != group) {
      group = field.group;
      absl::StrAppend(&page, page.empty() ? "" : "\n", "### ", group,
                      "\n\n| flag | key | default | meaning |\n|---|---|---|---|\n");
    }
    const std::string key = absl::StrCat(Code(field.field->name()), field.field->is_repeated() ? " (a list)" : "");
    absl::StrAppend(&page, "| ", Cell(FlagsOf(field)), " | ", key, " | ", DefaultOf(field), " | ",
                    Cell(MeaningOf(*field.setting)), " |\n");
  }
  return page;
}

std::string NonDefaultSettings(const config::Settings& given, const config::Settings& complete) {
  std::vector<std::string> settings;
  for (const SettingField& field : Fields()) {
    if (!IsSet(field, given)) continue;
    if (TextOf(field, complete) == TextOf(field, config::Settings::default_instance())) continue;
    settings.push_back(absl::StrCat(field.field->name(), " ", PublicTextOf(field, complete)));
  }
  return absl::StrJoin(settings, ", ");
}

}  // namespace hearth::server
