#include "server/settings.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/support/processors.h"
#include "jit/support/usable_memory.h"
#include "server/settings_schema.h"

namespace hearth::server {
namespace {

using google::protobuf::FieldDescriptor;

// Thirty years: what is longer does not fit into clocks.
constexpr double kMostSeconds = 1e9;

absl::Status Refuse(const std::string& what) { return absl::InvalidArgumentError(what); }

// Of a number; nothing for what is none.
std::optional<double> NumberOf(const SettingField& field, const config::Settings& settings) {
  const google::protobuf::Reflection& reflection = *settings.GetReflection();
  switch (field.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(settings, field.field);
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(reflection.GetInt64(settings, field.field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetDouble(settings, field.field);
    default:
      return std::nullopt;
  }
}

// What its bounds are, in words; empty if it has none.
std::string BoundsOf(const config::Setting& setting) {
  std::vector<std::string> bounds;
  if (setting.has_least()) bounds.push_back(absl::StrCat("at least ", setting.least()));
  if (setting.has_above()) bounds.push_back(absl::StrCat("above ", setting.above()));
  if (setting.has_most()) {
    const auto most = static_cast<int64_t>(setting.most());
    bounds.push_back(absl::StrCat("at most ", most));
  }
  return absl::StrJoin(bounds, " and ");
}

absl::Status CheckBounds(const SettingField& field, const config::Settings& settings) {
  const auto number = NumberOf(field, settings);
  const bool to_be_computed = field.setting->has_default_text() && !IsSet(field, settings);
  if (!number.has_value() || to_be_computed) return absl::OkStatus();
  config::Setting bounds = *field.setting;
  if (bounds.unit() == config::SECONDS && !bounds.has_most()) bounds.set_most(kMostSeconds);
  // Written so that a NaN is out of bounds.
  const bool within = (!bounds.has_least() || *number >= bounds.least()) &&
                      (!bounds.has_above() || *number > bounds.above()) &&
                      (!bounds.has_most() || *number <= bounds.most());
  if (within) return absl::OkStatus();
  return Refuse(absl::StrCat(field.field->name(), " must be ", BoundsOf(bounds), "; it is ", TextOf(field, settings)));
}

absl::Status CheckChoice(const SettingField& field, config::Settings& settings) {
  if (field.setting->choice().empty() || !IsSet(field, settings)) return absl::OkStatus();
  const std::string given = settings.GetReflection()->GetString(settings, field.field);
  for (const std::string& choice : field.setting->choice()) {
    if (!absl::EqualsIgnoreCase(choice, given)) continue;
    settings.GetReflection()->SetString(&settings, field.field, choice);
    return absl::OkStatus();
  }
  return Refuse(absl::StrCat(field.field->name(), " must be one of ", absl::StrJoin(field.setting->choice(), ", "),
                             "; it is '", given, "'"));
}

// What its own options say of a setting.
absl::Status CheckField(const SettingField& field, config::Settings& settings) {
  if (field.setting->required() && !IsSet(field, settings)) return Refuse(absl::StrCat(field.flag, " is required"));
  if (absl::Status status = CheckChoice(field, settings); !status.ok()) return status;
  return CheckBounds(field, settings);
}

// Of a complete message: the addresses are filled in.
absl::Status CheckPorts(const config::Settings& settings) {
  struct Port {
    const char* name;
    bool allowed;
    std::string address;
    int number;
  };
  const Port ports[] = {{"gRPC", settings.allow_grpc(), settings.grpc_address(), settings.grpc_port()},
                        {"HTTP", settings.allow_http(), settings.http_address(), settings.http_port()},
                        {"metrics", settings.allow_metrics(), settings.metrics_address(), settings.metrics_port()}};
  if (std::ranges::none_of(ports, &Port::allowed)) {
    return Refuse("allow_grpc, allow_http and allow_metrics are all off: hearthd would have no port");
  }
  for (const Port& first : ports) {
    for (const Port& second : ports) {
      const bool same = first.address == second.address && first.number == second.number && first.number != 0;
      if (&first == &second || !first.allowed || !second.allowed || !same) continue;
      return Refuse(absl::StrCat(first.name, " and ", second.name, " cannot both have the port ", first.number));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckModelsOfStart(const config::Settings& settings) {
  const auto& names = settings.load_model();
  if (names.size() > 1 && std::ranges::find(names, "*") != names.end()) {
    return Refuse("load_model has '*', which is all models, beside others");
  }
  return absl::OkStatus();
}

// Where TLS is asked for, there are files for it.
absl::Status CheckTls(const config::Settings& settings) {
  struct Port {
    const char* name;
    bool mutual;
    bool tls;
    const std::string& certificate;
    const std::string& key;
    const std::string& root;
    const char* files;
  };
  const Port ports[] = {
      {"grpc", settings.grpc_use_ssl_mutual(), settings.grpc_use_ssl(), settings.grpc_server_cert(),
       settings.grpc_server_key(), settings.grpc_root_cert(), "grpc"},
      {"http", settings.http_use_ssl_mutual(), settings.http_use_ssl(), settings.http_server_cert(),
       settings.http_server_key(), settings.http_root_cert(), "http"},
      {"metrics", settings.metrics_use_ssl_mutual(), settings.metrics_use_ssl(), settings.http_server_cert(),
       settings.http_server_key(), settings.http_root_cert(), "http"},
  };
  for (const Port& port : ports) {
    const std::string asked = absl::StrCat(port.name, port.mutual ? "_use_ssl_mutual" : "_use_ssl");
    if ((port.mutual || port.tls) && (port.certificate.empty() || port.key.empty())) {
      return Refuse(absl::StrCat(asked, " needs ", port.files, "_server_cert and ", port.files, "_server_key"));
    }
    if (port.mutual && port.root.empty()) return Refuse(absl::StrCat(asked, " needs ", port.files, "_root_cert"));
  }
  return absl::OkStatus();
}

absl::Status CheckAccess(const config::Settings& settings) {
  if (settings.admin() == "token" && settings.token_file().empty()) return Refuse("admin 'token' needs token_file");
  return absl::OkStatus();
}

// Half of the memory that this process may use: of the machine's, or of the least that control groups allow.
int64_t DefaultMemoryLimit() { return UsableMemory() / 2; }

// Where a control group gives this process a quota of processor time, compiling would use that up for requests.
double DefaultCompilerShare() { return ProcessorQuota() ? 0.05 : 0; }

void FillIn(config::Settings& settings) {
  if (!settings.has_memory_limit()) settings.set_memory_limit(DefaultMemoryLimit());
  if (!settings.has_load_memory_limit()) settings.set_load_memory_limit(DefaultMemoryLimit());
  if (!settings.has_requests_memory_limit()) settings.set_requests_memory_limit(DefaultMemoryLimit() / 2 * 3);
  if (!settings.has_kept_memory()) settings.set_kept_memory(DefaultMemoryLimit() / 4);
  if (!settings.has_grpc_address()) settings.set_grpc_address(settings.host());
  if (!settings.has_http_address()) settings.set_http_address(settings.host());
  if (!settings.has_metrics_address()) settings.set_metrics_address(settings.http_address());
  if (!settings.has_http_server_cert()) settings.set_http_server_cert(settings.grpc_server_cert());
  if (!settings.has_http_server_key()) settings.set_http_server_key(settings.grpc_server_key());
  if (!settings.has_http_root_cert()) settings.set_http_root_cert(settings.grpc_root_cert());
  if (!settings.has_compiler_share()) settings.set_compiler_share(DefaultCompilerShare());
}

}  // namespace

std::vector<absl::Status> FindProblems(config::Settings& given) {
  std::vector<absl::Status> problems;
  const auto note = [&](absl::Status status) {
    if (!status.ok()) problems.push_back(std::move(status));
  };
  for (const SettingField& field : Fields()) note(CheckField(field, given));
  // What follows looks at settings that are right by themselves.
  if (!problems.empty()) return problems;
  FillIn(given);
  note(CheckPorts(given));
  note(CheckModelsOfStart(given));
  note(CheckTls(given));
  note(CheckAccess(given));
  return problems;
}

absl::StatusOr<config::Settings> CompleteSettings(config::Settings given) {
  const std::vector<absl::Status> problems = FindProblems(given);
  if (!problems.empty()) return problems.front();
  return given;
}

LogLevels LogLevelsOf(const config::Settings& settings) {
  const bool given =
      settings.has_log_verbose() || settings.has_log_info() || settings.has_log_warning() || settings.has_log_error();
  if (!given) return LogLevelsOfEnvironment();
  return {.verbose = settings.log_verbose(),
          .info = settings.log_info(),
          .warning = settings.log_warning(),
          .error = settings.log_error()};
}

}  // namespace hearth::server
