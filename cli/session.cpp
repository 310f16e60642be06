#include "cli/session.h"

#include <ATen/Context.h>
#include <ATen/core/Dict.h>
#include <ATen/core/jit_type.h>
#include <link.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/text.h"

namespace hearth::cli {
namespace {

// The folder that libtorch_cpu.so was loaded from; empty where it is linked in.
std::filesystem::path LibTorchFolder() {
  std::filesystem::path found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        const std::filesystem::path path = info->dlpi_name;
        if (path.filename() != "libtorch_cpu.so") return 0;
        *static_cast<std::filesystem::path*>(result) = path.parent_path();
        return 1;
      },
      &found);
  return found;
}

// torchvision's operators where pip puts them: site-packages/torch/lib is LibTorch's folder.
std::filesystem::path NeighbourTorchvision() {
  std::error_code ignored;
  const auto site_packages = LibTorchFolder().parent_path().parent_path();
  for (const auto& file : std::filesystem::directory_iterator(site_packages / "torchvision", ignored)) {
    const std::string name = file.path().filename();
    if (name.starts_with("_C") && name.ends_with(".so")) return file.path();
  }
  return {};
}

bool WantsTorchvision(const absl::Status& status) {
  return MessageOf(status).find("torchvision::") != std::string::npos;
}

std::chrono::nanoseconds Duration(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

absl::StatusOr<std::unique_ptr<Runtime>> MakeRuntime(const SessionOptions& options) {
  RuntimeOptions runtime_options;
  runtime_options.device = options.device;
  runtime_options.operator_libraries = options.libraries;
  runtime_options.memory_limit = runtime_options.load_memory_limit = options.memory_limit;
  runtime_options.load_time_limit = Duration(options.timeout);
  runtime_options.compiler = options.compiler;
  return Runtime::Create(runtime_options);
}

absl::Status Named(const std::string& path, const absl::Status& status) {
  if (status.ok() || MessageOf(status).find(path) != std::string::npos) return status;
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::StatusOr<Arguments> ToArguments(const c10::IValue& value) {
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    return Arguments(elements.begin(), elements.end());
  }
  if (value.isList()) return value.toListRef().vec();
  return absl::InvalidArgumentError(
      absl::StrCat("'args' must be a tuple, and is of type ", value.type()->annotation_str()));
}

absl::StatusOr<KeywordArguments> ToKeywords(const c10::IValue& value) {
  if (!value.isGenericDict()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'kwargs' must be a dict, and is of type ", value.type()->annotation_str()));
  }
  KeywordArguments kwargs;
  for (const auto& entry : value.toGenericDict()) {
    if (!entry.key().isString()) return absl::InvalidArgumentError("the keys of 'kwargs' must be strings");
    kwargs.emplace_back(entry.key().toStringRef(), entry.value());
  }
  return kwargs;
}

absl::StatusOr<CallInputs> ToInputs(const c10::IValue& value) {
  CallInputs inputs;
  if (value.isTuple()) {
    auto args = ToArguments(value);
    if (!args.ok()) return args.status();
    inputs.args = *std::move(args);
    return inputs;
  }
  if (!value.isGenericDict()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a tuple of arguments, or a dict with 'args' and 'kwargs', found ", value.type()->annotation_str()));
  }
  for (const auto& entry : value.toGenericDict()) {
    const std::string key = entry.key().isString() ? entry.key().toStringRef() : "";
    if (key == "args") {
      auto args = ToArguments(entry.value());
      if (!args.ok()) return args.status();
      inputs.args = *std::move(args);
    } else if (key == "kwargs") {
      auto kwargs = ToKeywords(entry.value());
      if (!kwargs.ok()) return kwargs.status();
      inputs.kwargs = *std::move(kwargs);
    } else {
      return absl::InvalidArgumentError("a dict of inputs may have the keys 'args' and 'kwargs' only");
    }
  }
  return inputs;
}

}  // namespace

void AddSessionOptions(CLI::App& app, SessionOptions& options) {
  app.add_option("--device", options.device, "Where to run: cpu, cuda or cuda:N")->capture_default_str();
  app.add_option("--operator-library", options.libraries,
                 "A shared library that registers operators or classes; may be given again");
}

void AddLimitOptions(CLI::App& app, SessionOptions& options) {
  app.add_option("--memory-limit", options.memory_limit,
                 "Memory that a call, or loading, may come to hold beside the weights: 500MB, 2GiB; 0 is no limit")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  app.add_option("--timeout", options.timeout, "Seconds that a call, or loading, may take")
      ->check(CLI::Range(0.0, 1e9));
}

void AddTierOptions(CLI::App& app, SessionOptions& options) {
  static const std::map<std::string, Tier> kTiers = {
      {"auto", Tier::kAuto}, {"0", Tier::kBaseline}, {"1", Tier::kSpecialised}, {"2", Tier::kExact}};
  app.add_option("--tier", options.compiler.tier,
                 "auto: compile in the background; 0: the interpreter's baseline alone; 1: wait for the plan of each "
                 "call, then run; 2: the same, of a plan for exactly the sizes of the arguments")
      ->transform(CLI::CheckedTransformer(kTiers));
  app.add_flag("!--no-fuse", options.compiler.fuse, "Plans call LibTorch's operators one by one, and no fused kernels");
  app.add_option(
         "--cache-dir", options.compiler.cache_dir,
         "A folder that keeps fused kernels for the next run and, with --tier auto, what the model was called with")
      ->type_name("DIR");
  app.add_flag("--profiled", options.compiler.profiled,
               "With --tier 1 or 2: the first call of an argument spec runs the baseline and is watched, the plans of "
               "later ones "
               "speculate on what it showed");
  app.add_option("--fail-guards", options.compiler.fail_guards,
                 "A test: in every call with --tier 1 a guard, drawn by this seed, fails, and the baseline goes on "
                 "from there");
}

absl::StatusOr<Session> Session::Open(SessionOptions options) {
  if (const char* listed = std::getenv("HEARTH_OPERATOR_LIBRARIES")) {
    std::vector<std::string> paths;
    for (const std::string_view path : SplitText(listed, ':')) {
      if (!path.empty()) paths.emplace_back(path);
    }
    options.libraries.insert(options.libraries.begin(), paths.begin(), paths.end());
  }
  auto runtime = MakeRuntime(options);
  if (!runtime.ok()) return runtime.status();
  return Session(std::move(options), *std::move(runtime));
}

absl::StatusOr<std::shared_ptr<Model>> Session::Load(const std::string& archive, const std::string& function,
                                                     std::shared_ptr<const Model> predecessor) {
  LoadOptions load_options;
  load_options.map_file_in_place = true;
  load_options.function = function;
  load_options.predecessor = std::move(predecessor);
  const auto load = [&] {
    return archive.ends_with(".py") ? runtime_->LoadSource(archive, load_options)
                                    : runtime_->Load(archive, load_options);
  };
  auto model = load();
  if (!model.ok() && WantsTorchvision(model.status()) && LoadNeighbourLibrary()) model = load();
  if (!model.ok()) return Named(archive, model.status());
  return model;
}

bool Session::LoadNeighbourLibrary() {
  if (std::exchange(searched_neighbours_, true)) return false;
  const std::filesystem::path library = NeighbourTorchvision();
  if (library.empty()) return false;
  SessionOptions options = options_;
  options.libraries.push_back(library);
  auto runtime = MakeRuntime(options);
  if (!runtime.ok()) return false;
  options_ = std::move(options);
  runtime_ = *std::move(runtime);
  return true;
}

absl::StatusOr<CallInputs> ReadInputs(const std::string& path) {
  const auto value = ReadSavedValue(path);
  if (!value.ok()) return Named(path, value.status());
  auto inputs = ToInputs(*value);
  if (!inputs.ok()) return Named(path, inputs.status());
  return inputs;
}

absl::StatusOr<c10::IValue> Session::Call(Model& model, const std::string& method, CallInputs inputs,
                                          CallOptions settings) const {
  if (options_.timeout > 0) settings.deadline = std::chrono::steady_clock::now() + Duration(options_.timeout);
  if (method.empty()) return model.CallModule(std::move(inputs.args), std::move(inputs.kwargs), std::move(settings));
  return model.Call(method, std::move(inputs.args), std::move(inputs.kwargs), std::move(settings));
}

void SeedGenerators(uint64_t seed) { at::manual_seed(seed); }

absl::Status WriteAnswer(const c10::IValue& answer, const std::string& path) {
  return Named(path, WriteSavedValue(answer, path));
}

absl::Status WriteAnswerAndInputs(const c10::IValue* answer, const CallInputs& inputs, const std::string& path) {
  c10::impl::GenericDict kwargs(c10::StringType::get(), c10::AnyType::get());
  for (const auto& [name, value] : inputs.kwargs) kwargs.insert(name, value);
  c10::impl::GenericDict all(c10::StringType::get(), c10::AnyType::get());
  all.insert("args", c10::ivalue::Tuple::create(inputs.args));
  all.insert("kwargs", kwargs);
  if (answer != nullptr) all.insert("result", *answer);
  return WriteAnswer(all, path);
}

}  // namespace hearth::cli
