#include "server/check.h"

#include <cctype>
#include <filesystem>
#include <future>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/ports.h"
#include "server/repository/config_file.h"
#include "server/repository/layout.h"
#include "server/repository/model_config.h"
#include "server/repository/repository.h"
#include "server/repository_settings.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;

bool IsPartOfName(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_' || character == '.';
}

// Without what CheckModelConfig says first: whose configuration it is.
std::string WithoutModel(const std::string& message) {
  if (!message.starts_with("the configuration of '")) return message;
  const size_t end = message.find("': ");
  return end == std::string::npos ? message : message.substr(end + 3);
}

// What the message may mean: what it quotes, then its words that look like fields' names.
std::vector<std::string> NamesIn(const std::string& message) {
  std::vector<std::string> names;
  for (size_t begin = message.find('\''); begin != std::string::npos;) {
    const size_t end = message.find('\'', begin + 1);
    if (end == std::string::npos) break;
    if (end > begin + 1) names.push_back(message.substr(begin + 1, end - begin - 1));
    begin = message.find('\'', end + 1);
  }
  std::string word;
  for (const char character : message + " ") {
    if (std::islower(static_cast<unsigned char>(character)) != 0 || character == '_') {
      word += character;
      continue;
    }
    if (word.find('_') != std::string::npos) names.push_back(word);
    word.clear();
  }
  return names;
}

bool HasName(const std::string& line, const std::string& name) {
  for (size_t at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) {
    const bool begins = at == 0 || !IsPartOfName(line[at - 1]);
    const size_t end = at + name.size();
    if (begins && (end == line.size() || !IsPartOfName(line[end]))) return true;
  }
  return false;
}

class Checker {
 public:
  Checker(const config::Settings& settings, Runtime& runtime, Mirrors& mirrors, std::ostream& out)
      : settings_(settings),
        out_(out),
        mirrors_(mirrors),
        repository_(OptionsOf(settings, mirrors), runtime, SignatureFactory(), [] {}),
        dispatcher_({}, [&runtime](std::function<void()> work) { runtime.Post(std::move(work)); }),
        ensembles_(EnsemblesOn(settings, runtime, repository_, dispatcher_, alarms_)) {
    repository_.ServeEnsembles(EnsemblesOf(ensembles_));
  }

  // An ensemble may be loaded again by itself, with what goes before the repository.
  ~Checker() { repository_.FinishLoading(); }

  int Run() {
    for (const absl::Status& status : Ports::CheckFiles(settings_)) Report(std::string(status.message()));
    CheckModels();
    out_ << models_ << (models_ == 1 ? " model, " : " models, ") << problems_
         << (problems_ == 1 ? " problem" : " problems") << std::endl;
    return problems_;
  }

 private:
  // Models are loaded when this class says so, and none makes room for another one.
  static Repository::Options OptionsOf(const config::Settings& settings, Mirrors& mirrors) {
    Repository::Options options = RepositoryOptionsOf(settings, mirrors);
    options.control = ModelControl::kExplicit;
    options.load_models.clear();
    options.unload_idle_models = false;
    // What cannot be read is told, and the others are looked at.
    std::erase_if(options.roots, [](const fs::path& root) { return !ListModels(root).ok(); });
    return options;
  }

  void Report(const std::string& problem) {
    ++problems_;
    out_ << problem << std::endl;
  }

  void CheckModels() {
    std::set<std::string> names;
    for (const fs::path& root : mirrors_.roots()) {
      const auto found = ListModels(root);
      if (found.ok()) names.insert(found->begin(), found->end());
      if (!found.ok()) Report(std::string(found.status().message()));
    }
    for (const std::string& name : settings_.load_model()) {
      if (name != "*" && !names.contains(name))
        Report(absl::StrCat("load_model names '", name, "', which no repository has"));
    }
    std::promise<void> looked;
    const absl::Status begun = repository_.LoadAll([&] { looked.set_value(); });
    if (!begun.ok()) return Report(std::string(begun.message()));
    looked.get_future().wait();
    for (const std::string& name : names) CheckModel(name);
  }

  void CheckModel(const std::string& name) {
    ++models_;
    const absl::Status loaded = Wait([&](Repository::Done done) { repository_.Load(name, std::nullopt, done); });
    if (!loaded.ok()) ReportFailures(name, loaded);
    (void)Wait([&](Repository::Done done) { repository_.Unload(name, done, Repository::Dependents::kToo); });
  }

  template <typename Begin>
  static absl::Status Wait(const Begin& begin) {
    std::promise<absl::Status> ended;
    begin([&](absl::Status status) { ended.set_value(std::move(status)); });
    return ended.get_future().get();
  }

  // Of a load whose status has the first failure alone.
  void ReportFailures(const std::string& name, const absl::Status& loaded) {
    fs::path folder = name;
    int folders = 0;
    std::error_code error;
    for (const fs::path& root : mirrors_.roots()) {
      if (!fs::is_directory(root / name, error)) continue;
      folder = root / name;
      ++folders;
    }
    // That there are several is in no file.
    if (folders > 1) return Report(std::string(loaded.message()));
    const bool has_config = fs::exists(folder / kConfigFile, error);
    const int before = problems_;
    for (const VersionStatus& version : repository_.Versions()) {
      if (version.name != name || version.reason.empty()) continue;
      if (version.version.empty()) {
        Report(has_config ? Located((folder / kConfigFile).string(), version.reason)
                          : absl::StrCat(folder.string(), ": ", version.reason));
      } else {
        const std::string place = (folder / version.version).string();
        Report(version.reason.starts_with(place) ? version.reason : absl::StrCat(place, ": ", version.reason));
      }
    }
    if (problems_ == before) Report(absl::StrCat(folder.string(), ": ", loaded.message()));
  }

  const config::Settings& settings_;
  std::ostream& out_;
  Mirrors& mirrors_;
  Repository repository_;
  // Nothing is run, but ensembles are made with them.
  Dispatcher dispatcher_;
  AlarmClock alarms_;
  const EnsembleEnvironment ensembles_;
  int models_ = 0;
  int problems_ = 0;
};

}  // namespace

int LineOf(const std::string& text, const std::string& message) {
  for (const std::string& name : NamesIn(WithoutModel(message))) {
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      if (HasName(line.substr(0, line.find('#')), name)) return number;
    }
  }
  return 0;
}

std::string Located(const std::string& file, const std::string& message) {
  if (message.starts_with(file)) return message;
  const auto text = ReadConfigFile(file);
  if (!text.ok() || !text->has_value()) return absl::StrCat(file, ": ", message);
  const int line = LineOf(**text, message);
  return line == 0 ? absl::StrCat(file, ": ", message) : absl::StrCat(file, ":", line, ": ", message);
}

int CheckRepository(const config::Settings& settings, Runtime& runtime, std::ostream& out) {
  const auto mirrors = Mirrors::Open({settings.model_repository().begin(), settings.model_repository().end()}, "");
  const absl::Status found = mirrors.ok() ? (*mirrors)->FindModels({}) : mirrors.status();
  if (found.ok()) return Checker(settings, runtime, **mirrors, out).Run();
  out << found.message() << std::endl;
  return 1;
}

}  // namespace hearth::server
