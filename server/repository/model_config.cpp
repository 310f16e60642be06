#include "server/repository/model_config.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/repository/config_file.h"
#include "server/repository/config_limits.h"
#include "server/repository/data_files.h"
#include "server/repository/ensemble_graph.h"
#include "server/repository/first_error.h"
#include "server/repository/layout.h"
#include "server/repository/metric_options.h"
#include "server/repository/queue_settings.h"
#include "server/repository/sequence_settings.h"
#include "server/repository/served_set.h"
#include "server/repository/shadow_traffic.h"
#include "server/repository/version_routing.h"
#include "wire/datatypes.h"

namespace hearth::server {
namespace {

using inference::ModelConfig;

// The parameters that are used.
struct Parameter {
  absl::string_view name;
  std::optional<int64_t> ModelSettings::*setting;
  int64_t least;
};
constexpr Parameter kParameters[] = {
    {"memory_limit", &ModelSettings::memory_limit, 0},
    {"requests_memory_limit", &ModelSettings::requests_memory_limit, 0},
    {"compile_after", &ModelSettings::compile_after, 1},
    {"exact_after", &ModelSettings::exact_after, 0},
    {"max_plans", &ModelSettings::max_plans, 1},
    {"plan_bytes", &ModelSettings::plan_bytes, 1},
    {"max_running", &ModelSettings::max_running, 1},
    {"max_queue_milliseconds", &ModelSettings::max_queue_milliseconds, 0},
};

// Those that an ensemble has.
constexpr absl::string_view kEnsembleParameters[] = {"memory_limit", "requests_memory_limit", "max_running",
                                                     "max_queue_milliseconds"};

constexpr const char* kMaxRunSeconds = "max_run_seconds";
constexpr double kMostRunSeconds = 1e9;

absl::Status Refused(const std::string& model, const std::string& what) {
  return absl::UnimplementedError(
      absl::StrCat("the configuration of '", model, "' asks for ", what, ", which this server does not offer"));
}

absl::Status WrongConfig(const std::string& model, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the configuration of '", model, "': ", what));
}

// What an ensemble cannot have: it has no archive, no runs of its own and no device.
absl::Status CheckEnsemble(const ModelConfig& config, const std::string& name) {
  if (!config.platform().empty() && config.platform() != kEnsemblePlatform) {
    return WrongConfig(name, absl::StrCat("it has ensemble_scheduling, and the platform '", config.platform(),
                                          "'; an ensemble's is '", kEnsemblePlatform, "'"));
  }
  const auto wrong = [&](const char* field) {
    return WrongConfig(name, absl::StrCat("it is an ensemble, which has no ", field));
  };
  if (!config.backend().empty()) return wrong("backend");
  if (config.instance_group_size() > 0) return wrong("instance_group");
  if (config.has_optimization()) return wrong("optimization");
  if (config.model_warmup_size() > 0) return wrong("model_warmup; its steps' models have");
  if (!config.default_model_filename().empty()) return wrong("default_model_filename");
  const auto graph = EnsembleGraph::Create(config);
  return graph.ok() ? absl::OkStatus() : WrongConfig(name, std::string(graph.status().message()));
}

absl::Status CheckRefused(const ModelConfig& config, const std::string& name) {
  if (!IsEnsemble(config) && config.platform() == kEnsemblePlatform) {
    return WrongConfig(name,
                       absl::StrCat("its platform is '", kEnsemblePlatform, "', but it has no ensemble_scheduling"));
  }
  if (!IsEnsemble(config) && !config.platform().empty() && config.platform() != kPlatform) {
    return Refused(name, absl::StrCat("platform '", config.platform(), "' (it serves ", kPlatform, " and ",
                                      kEnsemblePlatform, ")"));
  }
  if (!IsEnsemble(config) && !config.backend().empty() && config.backend() != kBackend &&
      config.backend() != "libtorch") {
    return Refused(name, absl::StrCat("backend '", config.backend(), "' (it serves ", kBackend, ")"));
  }
  if (config.runtime() == "model.py") return Refused(name, "the Python runtime model.py");
  if (config.model_transaction_policy().decoupled()) return Refused(name, "decoupled transactions");
  if (config.batch_input_size() > 0) return Refused(name, "batch_input");
  if (config.batch_output_size() > 0) return Refused(name, "batch_output");
  if (config.model_repository_agents().agents_size() > 0) return Refused(name, "model_repository_agents");
  for (const auto& input : config.input()) {
    if (input.is_shape_tensor()) return Refused(name, absl::StrCat("shape tensor '", input.name(), "'"));
  }
  for (const auto& output : config.output()) {
    if (output.is_shape_tensor()) return Refused(name, absl::StrCat("shape tensor '", output.name(), "'"));
  }
  return absl::OkStatus();
}

// Of sizes that are -1, which is any, or not below 0.
struct Elements {
  std::optional<int64_t> count;  // nothing where a size is not known
  bool too_many = false;         // those that are known overflow
};

template <typename Sizes>
Elements CountElements(const Sizes& sizes) {
  Elements elements{1};
  int64_t known = 1;
  bool empty = false;
  for (const int64_t size : sizes) {
    if (size == -1) elements.count.reset();
    if (size == 0) empty = true;
    // Overflows also where another size is 0: sizes and strides are computed one by one.
    if (size > 0 && __builtin_mul_overflow(known, size, &known)) elements.too_many = true;
  }
  if (elements.count) elements.count = empty ? 0 : known;
  return elements;
}

// What inputs and outputs have in common: a name of their own, a datatype, dims that are sizes, a reshape that keeps
// the number of elements where that is known.
template <typename Tensors>
absl::Status CheckTensors(const Tensors& tensors, const char* kind, const std::string& model) {
  std::set<std::string> names;
  for (const auto& tensor : tensors) {
    const std::string called = absl::StrCat(kind, " '", tensor.name(), "'");
    if (tensor.name().empty()) return WrongConfig(model, absl::StrCat("an ", kind, " has no name"));
    if (!names.insert(tensor.name()).second) return WrongConfig(model, absl::StrCat(called, " is there twice"));
    if (FindDatatype(tensor.data_type()) == nullptr)
      return WrongConfig(model, absl::StrCat(called, " has no data_type"));
    for (int64_t size : tensor.dims()) {
      if (size < 1 && size != -1) {
        return WrongConfig(model, absl::StrCat(called, " has a dimension of ", size, "; sizes are -1 or above 0"));
      }
    }
    const Elements elements = CountElements(tensor.dims());
    if (elements.too_many)
      return WrongConfig(model, absl::StrCat(called, " has dims of more elements than can be counted"));
    if (!tensor.has_reshape()) continue;
    for (int64_t size : tensor.reshape().shape()) {
      if (size < 1 && size != -1) return WrongConfig(model, absl::StrCat(called, " has a reshape to the size ", size));
    }
    const Elements reshaped = CountElements(tensor.reshape().shape());
    if (reshaped.too_many || elements.count != reshaped.count) {
      return WrongConfig(model, absl::StrCat(called, " of ", absl::StrJoin(tensor.dims(), "x"),
                                             " cannot be reshaped to ", absl::StrJoin(tensor.reshape().shape(), "x")));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWarmupInput(const inference::ModelWarmup::Input& input, const std::string& where,
                              const std::string& model) {
  if (FindDatatype(input.data_type()) == nullptr) return WrongConfig(model, absl::StrCat(where, " has no data_type"));
  for (int64_t size : input.dims()) {
    if (size < 0)
      return WrongConfig(model, absl::StrCat(where, " has a dimension of ", size, "; a sample's are known"));
  }
  switch (input.input_data_type_case()) {
    case inference::ModelWarmup::Input::kZeroData:
    case inference::ModelWarmup::Input::kRandomData:
      return absl::OkStatus();
    case inference::ModelWarmup::Input::kInputDataFile:
      if (const absl::Status status = CheckFileName(input.input_data_file()); !status.ok()) {
        return WrongConfig(model, absl::StrCat("input_data_file for ", where, " is a file in the model's folder ",
                                               kWarmupFolder, ": ", status.message()));
      }
      return absl::OkStatus();
    case inference::ModelWarmup::Input::INPUT_DATA_TYPE_NOT_SET:
      break;
  }
  return WrongConfig(model, absl::StrCat(where, " has none of zero_data, random_data and input_data_file"));
}

// Nothing where they are more than a sample may have.
std::optional<int64_t> BytesOf(const inference::ModelWarmup::Input& input, int64_t batch) {
  const Elements elements = CountElements(input.dims());
  if (elements.too_many) return std::nullopt;
  const Datatype& datatype = *FindDatatype(input.data_type());
  const auto element_bytes = static_cast<int64_t>(datatype.is_bytes() ? sizeof(std::string) : datatype.size);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(*elements.count, batch, &bytes)) return std::nullopt;
  if (__builtin_mul_overflow(bytes, element_bytes, &bytes)) return std::nullopt;
  return bytes <= kMostSampleBytes ? std::optional(bytes) : std::nullopt;
}

absl::Status CheckWarmup(const ModelConfig& config, const std::string& model) {
  const int64_t most = std::max(1, config.max_batch_size());
  int64_t all_runs = 0;
  int64_t all_bytes = 0;
  for (const inference::ModelWarmup& sample : config.model_warmup()) {
    const std::string called = absl::StrCat("the warm-up sample '", sample.name(), "'");
    if (sample.batch_size() > most) {
      return WrongConfig(
          model, absl::StrCat(called, " has a batch of ", sample.batch_size(), "; the model takes at most ", most));
    }
    int64_t bytes = 0;
    for (const auto& [name, input] : sample.inputs()) {
      const std::string where = absl::StrCat("input '", name, "' of ", called);
      if (absl::Status status = CheckWarmupInput(input, where, model); !status.ok()) return status;
      const auto more = BytesOf(input, std::max<int64_t>(1, sample.batch_size()));
      if (!more || *more > kMostSampleBytes - bytes) {
        return WrongConfig(model, absl::StrCat(where, " makes the sample larger than ", kMostSampleBytes, " bytes"));
      }
      bytes += *more;
    }
    const int64_t runs = std::max<int64_t>(1, sample.count());
    all_runs += runs;
    if (all_runs > kMostWarmupRuns) {
      return WrongConfig(model, absl::StrCat(called, " makes the runs of all samples more than ", kMostWarmupRuns));
    }
    all_bytes += runs * bytes;
    if (all_bytes > kMostWarmupBytes) {
      return WrongConfig(model, absl::StrCat(called, " makes the tensors of all samples' runs larger than ",
                                             kMostWarmupBytes, " bytes"));
    }
  }
  return absl::OkStatus();
}

// More than what is true of any model: one instance, on a device that is the server's.
bool AsksForInstances(inference::ModelInstanceGroup group) {
  using Group = inference::ModelInstanceGroup;
  if (group.count() == 1) group.clear_count();
  if (group.kind() == Group::KIND_GPU) group.clear_kind();
  group.clear_gpus();
  group.clear_rate_limiter();
  return group.ByteSizeLong() > 0;
}

absl::Status CheckGpus(const ModelConfig& config, const std::string& model) {
  for (const inference::ModelInstanceGroup& group : config.instance_group()) {
    for (const int gpu : group.gpus()) {
      if (gpu < 0) return WrongConfig(model, absl::StrCat("instance_group.gpus has ", gpu, ", which is no GPU"));
      if (group.kind() == inference::ModelInstanceGroup::KIND_CPU) {
        return WrongConfig(model, "an instance_group has gpus, and the kind KIND_CPU");
      }
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> IgnoredFields(const ModelConfig& config) {
  std::vector<std::string> ignored = IgnoredOfDynamicBatching(config);
  const auto note = [&](bool set, const std::string& what) {
    if (set) ignored.push_back(what);
  };
  // The number of instances is that of runs that may be under way at once, where requests wait for one.
  note(std::ranges::any_of(config.instance_group(), AsksForInstances) && !QueueSettingsOf(config).queues(),
       "instance_group but for gpus and rate_limiter.priority (one instance on each of the server's devices serves all "
       "requests; the parameter max_running bounds its runs)");
  note(std::ranges::any_of(config.instance_group(),
                           [](const auto& group) { return group.rate_limiter().resources_size() > 0; }),
       "rate_limiter.resources of instance_group");
  const auto& sequences = config.sequence_batching();
  note(sequences.oldest().max_candidate_sequences() > 0,
       "sequence_batching.oldest.max_candidate_sequences (all sequences go on side by side)");
  note(sequences.direct().minimum_slot_utilization() > 0, "sequence_batching.direct.minimum_slot_utilization");
  note(sequences.oldest().preserve_ordering(), "sequence_batching.oldest.preserve_ordering");
  note(config.has_optimization(), "optimization");
  note(config.cc_model_filenames_size() > 0, "cc_model_filenames");
  for (const std::string& family : UnknownHistograms(config)) {
    note(true, absl::StrCat("model_metrics of ", family, " (models here have no such histogram)"));
  }
  note(!config.runtime().empty(), "runtime");
  note(IsEnsemble(config) && config.response_cache().enable(),
       "response_cache (an ensemble's answers are not cached; its steps' may be)");
  note(IsEnsemble(config) && config.model_operations().op_library_filename_size() > 0, "model_operations");
  for (const auto& input : config.input()) {
    note(input.allow_ragged_batch(), absl::StrCat("allow_ragged_batch of input '", input.name(), "'"));
  }
  // A map's order is not the file's; sort, so that the same file always gives the same warnings.
  std::set<std::string> parameters;
  for (const auto& [key, value] : config.parameters()) {
    const bool is_used = IsBatchParameter(config, key) || key == kVersionLabels || key == kTrafficSplit ||
                         key == kKeepPrevious || std::ranges::find(ShadowParameters(), key) != ShadowParameters().end();
    const bool of_ensemble = std::ranges::find(kEnsembleParameters, key) != std::end(kEnsembleParameters);
    const bool has_setting = std::ranges::any_of(kParameters, [&](const Parameter& used) { return key == used.name; });
    const bool is_setting = IsEnsemble(config) ? of_ensemble : has_setting || key == kMaxRunSeconds;
    if (!is_used && !is_setting) parameters.insert(key);
  }
  for (const std::string& key : parameters) ignored.push_back(absl::StrCat("parameter ", key));
  return ignored;
}

}  // namespace

absl::StatusOr<ModelConfig> ParseModelConfig(const std::string& text, const std::string& file) {
  if (absl::Status status = CheckConfigText(text, file); !status.ok()) return status;
  FirstError error(file);
  google::protobuf::TextFormat::Parser parser;
  parser.SetRecursionLimit(kDeepestConfig);
  parser.RecordErrorsTo(&error);
  ModelConfig config;
  if (!parser.ParseFromString(text, &config)) return absl::InvalidArgumentError(error.message());
  return config;
}

absl::StatusOr<ModelConfig> ParseModelConfigJson(const std::string& json) {
  if (absl::Status status = CheckConfigText(json, "the parameter 'config'"); !status.ok()) return status;
  ModelConfig config;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &config);
  if (status.ok()) return config;
  const auto message = status.message();
  return absl::InvalidArgumentError(absl::StrCat("the parameter 'config' is not a model configuration in JSON: ",
                                                 absl::string_view(message.data(), message.size())));
}

std::vector<int> GpusOf(const ModelConfig& config) {
  std::set<int> gpus;
  for (const inference::ModelInstanceGroup& group : config.instance_group()) {
    // One that names none is on all, whatever others name.
    if (group.gpus().empty()) return {};
    gpus.insert(group.gpus().begin(), group.gpus().end());
  }
  return {gpus.begin(), gpus.end()};
}

absl::StatusOr<CheckedConfig> CheckModelConfig(ModelConfig config, const std::string& name) {
  if (absl::Status status = CheckConfigLimits(config); !status.ok())
    return WrongConfig(name, std::string(status.message()));
  if (config.name().empty()) config.set_name(name);
  if (config.name() != name) {
    return WrongConfig(name, absl::StrCat("its name is '", config.name(), "', its folder's is '", name, "'"));
  }
  if (absl::Status status = CheckRefused(config, name); !status.ok()) return status;
  if (absl::Status status = CheckTensors(config.input(), "input", name); !status.ok()) return status;
  if (absl::Status status = CheckTensors(config.output(), "output", name); !status.ok()) return status;

  if (IsEnsemble(config)) {
    if (absl::Status status = CheckEnsemble(config, name); !status.ok()) return status;
  }
  if (config.has_sequence_batching()) {
    if (absl::Status status = CheckSequenceBatching(config); absl::IsUnimplemented(status)) {
      return absl::UnimplementedError(absl::StrCat("the configuration of '", name, "': ", status.message()));
    } else if (!status.ok()) {
      return WrongConfig(name, std::string(status.message()));
    }
  }
  if (absl::Status status = CheckGpus(config, name); !status.ok()) return status;
  if (absl::Status status = CheckWarmup(config, name); !status.ok()) return status;
  if (absl::Status status = CheckDynamicBatching(config); !status.ok()) {
    return WrongConfig(name, std::string(status.message()));
  }

  if (const auto settings = SettingsOf(config); !settings.ok()) return settings.status();
  if (const auto routing = RoutingOf(config); !routing.ok()) {
    return WrongConfig(name, std::string(routing.status().message()));
  }
  if (const auto metrics = MetricSettingsOf(config); !metrics.ok()) {
    return WrongConfig(name, std::string(metrics.status().message()));
  }
  if (const auto keeps = KeepsPrevious(config); !keeps.ok()) {
    return WrongConfig(name, std::string(keeps.status().message()));
  }
  if (const auto shadow = ShadowSettingsOf(config); !shadow.ok()) {
    return WrongConfig(name, std::string(shadow.status().message()));
  }

  CheckedConfig checked;
  checked.warnings = IgnoredFields(config);
  config.set_platform(IsEnsemble(config) ? kEnsemblePlatform : kPlatform);
  config.set_backend(IsEnsemble(config) ? "" : kBackend);
  if (!IsEnsemble(config) && config.default_model_filename().empty()) {
    config.set_default_model_filename(kDefaultModelFilename);
  }
  if (absl::Status status = CheckFileName(config.default_model_filename()); !IsEnsemble(config) && !status.ok()) {
    return WrongConfig(name, absl::StrCat("default_model_filename: ", status.message()));
  }
  for (const std::string& library : config.model_operations().op_library_filename()) {
    // A configuration can come from a client, so it only chooses among what is in the model's folder.
    if (absl::Status status = CheckFileName(library); !status.ok()) {
      return WrongConfig(name, absl::StrCat("op_library_filename is a file in the model's folder: ", status.message()));
    }
  }
  if (config.version_policy().policy_choice_case() == inference::ModelVersionPolicy::POLICY_CHOICE_NOT_SET) {
    config.mutable_version_policy()->mutable_latest()->set_num_versions(1);
  }
  checked.config = std::move(config);
  return checked;
}

absl::StatusOr<ModelSettings> SettingsOf(const ModelConfig& config) {
  ModelSettings settings;
  for (const Parameter& parameter : kParameters) {
    const auto found = config.parameters().find(std::string(parameter.name));
    if (found == config.parameters().end()) continue;
    const std::string& text = found->second.string_value();
    int64_t number = 0;
    if (!absl::SimpleAtoi(text, &number) || number < parameter.least) {
      return WrongConfig(config.name(), absl::StrCat("the parameter ", parameter.name, " is '", text,
                                                     "'; it must be a whole number from ", parameter.least, " on"));
    }
    settings.*parameter.setting = number;
  }
  if (const auto found = config.parameters().find(kMaxRunSeconds); found != config.parameters().end()) {
    const std::string& text = found->second.string_value();
    double seconds = 0;
    // Written so that a NaN is out of bounds.
    if (!absl::SimpleAtod(text, &seconds) || !(seconds >= 0 && seconds <= kMostRunSeconds)) {
      return WrongConfig(config.name(), absl::StrCat("the parameter ", kMaxRunSeconds, " is '", text,
                                                     "'; it must be a number of seconds from 0 to 1e9"));
    }
    settings.max_run_seconds = seconds;
  }
  return settings;
}

absl::StatusOr<CheckedConfig> ReadModelConfig(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kConfigFile;
  auto text = ReadConfigFile(file);
  if (!text.ok()) return text.status();
  ModelConfig config;
  if (text->has_value()) {
    auto parsed = ParseModelConfig(**text, file.string());
    if (!parsed.ok()) return parsed.status();
    config = *std::move(parsed);
  }
  return CheckModelConfig(std::move(config), folder.filename().string());
}

}  // namespace hearth::server
