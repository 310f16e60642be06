// hearth inspect: what an archive offers and holds, without running it.

#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/json.h"
#include "cli/method_source.h"
#include "cli/plans.h"
#include "cli/session.h"
#include "cli/tensor_facts.h"
#include "cli/text.h"
#include "cli/value_summary.h"

namespace hearth::cli {
namespace {

constexpr const char* kInspect = "inspect";

struct InspectOptions {
  std::string archive;
  std::string method;
  std::string stage = "baseline";
  bool graph = false;
  bool code = false;
  bool json = false;
  ServerOptions server;
  std::vector<std::string> served;  // address, model and perhaps version, in place of an archive
  SessionOptions session;
};

// How many tensors, elements and bytes; a tensor that several attributes share counts once.
struct Amount {
  int64_t tensors = 0;
  int64_t elements = 0;
  uint64_t bytes = 0;

  void Add(const at::Tensor& tensor) {
    ++tensors;
    elements += tensor.numel();
    bytes += static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
  }
};

struct Contents {
  Amount parameters;
  Amount buffers;
  std::map<std::string, Amount> by_dtype;
};

Contents CountTensors(const std::vector<AttributeInfo>& attributes) {
  Contents contents;
  std::set<std::tuple<const void*, int64_t, std::vector<int64_t>>> seen;
  for (const AttributeInfo& attribute : attributes) {
    if (!attribute.tensor || !attribute.tensor->defined()) continue;
    const at::Tensor& tensor = *attribute.tensor;
    const void* storage = tensor.has_storage() ? static_cast<const void*>(tensor.storage().unsafeGetStorageImpl())
                                               : static_cast<const void*>(tensor.unsafeGetTensorImpl());
    const int64_t offset = tensor.has_storage() ? tensor.storage_offset() : 0;
    if (!seen.emplace(storage, offset, tensor.sizes().vec()).second) continue;
    if (attribute.is_parameter) contents.parameters.Add(tensor);
    if (attribute.is_buffer) contents.buffers.Add(tensor);
    contents.by_dtype[DtypeName(tensor.scalar_type())].Add(tensor);
  }
  return contents;
}

// "forward(Tensor x, int n=3) -> Tensor": without self, which no caller gives.
std::string SchemaText(const MethodInfo& method) {
  std::string text = method.name + "(";
  const auto arguments = method.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i > 0) text += ", ";
    text += arguments[i].name() + ": " + arguments[i].type()->annotation_str();
    if (const auto& value = arguments[i].default_value()) {
      std::ostringstream printed;
      printed << *value;
      text += " = " + (value->isString() ? "\"" + EscapeLine(value->toStringRef()) + "\"" : printed.str());
    }
  }
  text += ") -> ";
  const auto& returns = method.schema->returns();
  return text + (returns.empty() ? "None" : returns.front().type()->annotation_str());
}

Json MethodToJson(const MethodInfo& method) {
  Json arguments = Json::array();
  for (const c10::Argument& argument : method.arguments()) {
    Json json = {{"name", argument.name()}, {"type", argument.type()->annotation_str()}};
    if (argument.default_value()) json["default"] = ValueToJson(*argument.default_value());
    arguments.push_back(std::move(json));
  }
  Json returns = Json::array();
  for (const c10::Argument& result : method.schema->returns()) returns.push_back(result.type()->annotation_str());
  return {{"name", method.name}, {"schema", SchemaText(method)}, {"arguments", arguments}, {"returns", returns}};
}

Json AmountToJson(const Amount& amount) {
  return {{"tensors", amount.tensors}, {"elements", amount.elements}, {"bytes", amount.bytes}};
}

const char* KindOf(const AttributeInfo& attribute) {
  return attribute.is_parameter ? "parameter" : attribute.is_buffer ? "buffer" : "attribute";
}

Json AttributeToJson(const AttributeInfo& attribute) {
  Json json = {{"path", attribute.path}, {"type", attribute.type}, {"kind", KindOf(attribute)}};
  if (attribute.tensor && attribute.tensor->defined()) {
    json["dtype"] = DtypeName(attribute.tensor->scalar_type());
    json["shape"] = std::vector<int64_t>(attribute.tensor->sizes().begin(), attribute.tensor->sizes().end());
  } else {
    json["value"] = attribute.value;
  }
  return json;
}

// What every submodule has and nobody looks for; --json has it.
bool IsBookkeeping(const AttributeInfo& attribute) {
  return attribute.path.ends_with(".training") || attribute.path.ends_with("_is_full_backward_hook");
}

class Inspection {
 public:
  Inspection(const InspectOptions& options, std::shared_ptr<Model> model)
      : options_(options), model_(std::move(model)) {
    for (MethodInfo& method : model_->methods()) {
      if (options.method.empty() || method.name == options.method) methods_.push_back(std::move(method));
    }
  }

  int Print() {
    if (methods_.empty() && !options_.method.empty()) {
      return FailWithLine(kInspect, absl::StrCat(options_.archive, ": there is no method '", options_.method,
                                                 "'; it has ", MethodNames()));
    }
    if (options_.json) return PrintAsJson();
    if (options_.graph) return PrintGraphs();
    if (options_.code) return PrintCode();
    return PrintOverview();
  }

 private:
  std::string MethodNames() const {
    std::string names;
    for (const MethodInfo& method : model_->methods()) absl::StrAppend(&names, names.empty() ? "" : ", ", method.name);
    return names.empty() ? "none" : names;
  }

  absl::StatusOr<std::string> Graph(const MethodInfo& method) const {
    return model_->GraphText(method.name, options_.stage == "emitted" ? GraphStage::kEmitted : GraphStage::kBaseline);
  }

  // With a method named, its definition; else every file.
  std::vector<std::pair<std::string, std::string>> Code() const {
    if (options_.method.empty()) return model_->sources();
    return {MethodSource(model_->sources(), *methods_.front().schema, options_.method)};
  }

  int PrintOverview() const {
    const std::vector<AttributeInfo> attributes = model_->attributes();
    const Contents contents = CountTensors(attributes);
    std::printf("%s\n", options_.archive.c_str());
    std::printf("  %lld parameters in %lld tensors (%s), %lld elements in %lld buffers (%s)\n",
                static_cast<long long>(contents.parameters.elements),
                static_cast<long long>(contents.parameters.tensors), BytesText(contents.parameters.bytes).c_str(),
                static_cast<long long>(contents.buffers.elements), static_cast<long long>(contents.buffers.tensors),
                BytesText(contents.buffers.bytes).c_str());
    std::printf("  %s of weights in all\n", BytesText(model_->weight_bytes()).c_str());
    for (const auto& [dtype, amount] : contents.by_dtype) {
      std::printf("  %s: %lld tensors, %s\n", dtype.c_str(), static_cast<long long>(amount.tensors),
                  BytesText(amount.bytes).c_str());
    }
    std::printf("\nMethods\n");
    for (const MethodInfo& method : methods_) std::printf("  %s\n", SchemaText(method).c_str());
    PrintAttributes(attributes);
    PrintOperators();
    return kSuccess;
  }

  static void PrintAttributes(const std::vector<AttributeInfo>& attributes) {
    std::vector<std::vector<std::string>> rows;
    for (const AttributeInfo& attribute : attributes) {
      if (IsBookkeeping(attribute)) continue;
      const bool is_tensor = attribute.tensor && attribute.tensor->defined();
      rows.push_back({attribute.path, KindOf(attribute), is_tensor ? TensorTypeText(*attribute.tensor) : attribute.type,
                      is_tensor ? "" : OneLine(attribute.value)});
    }
    if (!rows.empty()) std::printf("\nAttributes\n%s", AlignColumns(rows, 2).c_str());
  }

  void PrintOperators() const {
    std::vector<std::vector<std::string>> rows;
    for (const OperatorUse& use : model_->operators()) rows.push_back({use.name, std::to_string(use.calls)});
    if (!rows.empty()) std::printf("\nOperators\n%s", AlignColumns(rows, 2).c_str());
  }

  int PrintGraphs() const {
    for (const MethodInfo& method : methods_) {
      const auto text = Graph(method);
      if (!text.ok()) return FailWithLine(kInspect, MessageOf(text.status()));
      if (methods_.size() > 1) std::printf("# %s\n", method.name.c_str());
      std::fputs(text->c_str(), stdout);
    }
    return kSuccess;
  }

  int PrintCode() const {
    for (const auto& [name, text] : Code()) {
      std::printf("# %s\n%s%s", name.c_str(), text.c_str(), text.ends_with('\n') ? "" : "\n");
    }
    return kSuccess;
  }

  int PrintAsJson() const {
    const std::vector<AttributeInfo> attributes = model_->attributes();
    const Contents contents = CountTensors(attributes);
    Json json = {{"archive", options_.archive}, {"methods", Json::array()}};
    for (const MethodInfo& method : methods_) json["methods"].push_back(MethodToJson(method));
    json["parameters"] = AmountToJson(contents.parameters);
    json["buffers"] = AmountToJson(contents.buffers);
    json["dtypes"] = Json::object();
    for (const auto& [dtype, amount] : contents.by_dtype) json["dtypes"][dtype] = AmountToJson(amount);
    json["weight_bytes"] = model_->weight_bytes();
    json["attributes"] = Json::array();
    for (const AttributeInfo& attribute : attributes) json["attributes"].push_back(AttributeToJson(attribute));
    json["operators"] = Json::array();
    for (const OperatorUse& use : model_->operators()) {
      json["operators"].push_back({{"name", use.name}, {"calls", use.calls}});
    }
    if (options_.graph) {
      json["graphs"] = Json::object();
      for (const MethodInfo& method : methods_) {
        const auto text = Graph(method);
        if (!text.ok()) return FailWithLine(kInspect, MessageOf(text.status()));
        json["graphs"][method.name] = *text;
      }
    }
    if (options_.code) {
      json["code"] = Json::object();
      for (const auto& [name, text] : Code()) json["code"][name] = text;
    }
    PrintJson(json);
    return kSuccess;
  }

  const InspectOptions& options_;
  std::shared_ptr<Model> model_;
  std::vector<MethodInfo> methods_;
};

int Inspect(const InspectOptions& options) {
  if (!options.served.empty()) {
    ServerOptions server = options.server;
    server.address = options.served[0];
    server.model = options.served[1];
    if (options.served.size() > 2) server.version = options.served[2];
    return PrintPlans(server, options.graph, options.json);
  }
  if (options.archive.empty()) return FailWithLine(kInspect, "give an ARCHIVE, or --plans ADDRESS MODEL");
  auto session = Session::Open(options.session);
  if (!session.ok()) return FailWithLine(kInspect, MessageOf(session.status()));
  auto model = session->Load(options.archive, options.method);
  if (!model.ok()) return FailWithLine(kInspect, MessageOf(model.status()));
  return Inspection(options, *std::move(model)).Print();
}

}  // namespace

Action AddInspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* inspect = app.add_subcommand(kInspect, "Shows what an archive offers and holds");
  CLI::Option* archive =
      inspect->add_option("ARCHIVE", options->archive, "What torch.jit.save wrote, or a file of TorchScript (.py)");
  inspect
      ->add_option("--plans", options->served,
                   "What a served model is called with and the plans compiled for it, with their graphs if --graph")
      ->type_name("ADDRESS MODEL [VERSION]")
      ->expected(2, 3)
      ->check([](const std::string& value) {
        return value.starts_with('-') ? "ADDRESS and MODEL come right behind it, found " + value : std::string();
      })
      ->excludes(archive);
  inspect->add_option("--method", options->method, "Only this method");
  CLI::Option* graph = inspect->add_flag("--graph", options->graph, "Print the intermediate representation");
  inspect->add_option("--stage", options->stage, "Which one: as emitted, or the baseline that runs")
      ->check(CLI::IsMember({"emitted", "baseline"}))
      ->capture_default_str();
  CLI::Option* code = inspect->add_flag("--code", options->code, "Print the archive's source");
  graph->excludes(code);
  inspect->add_flag("--json", options->json, "Print as JSON");
  AddSessionOptions(*inspect, options->session);
  AddConnectionOptions(*inspect, options->server);
  return [options] { return Inspect(*options); };
}

}  // namespace hearth::cli
