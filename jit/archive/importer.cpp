#include "jit/archive/importer.h"

#include <ATen/core/class_type.h>
#include <ATen/core/function.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <unordered_map>

#include "jit/archive/byte_order.h"
#include "jit/archive/container_types.h"
#include "jit/archive/debug_ranges.h"
#include "jit/archive/pickle.h"
#include "jit/archive/storage_table.h"
#include "jit/frontend/source_importer.h"
#include "jit/module/compilation_unit.h"
#include "jit/support/errors.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

constexpr int64_t kLowestVersion = 1;
constexpr int64_t kHighestVersion = 10;
constexpr std::string_view kCodeFolder = "code/";
constexpr std::string_view kCodeEnd = ".py";
constexpr std::string_view kNativeClasses = "__torch__.torch.classes.";
constexpr std::string_view kPackedWeights = "__torch__.torch.classes.quantized.";

bool StartsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Other things that are kept in zip files and named .pt, told apart by a record that only they have.
void RefuseOtherFormats(const ZipReader& archive) {
  const auto refuse = [&](const char* what) {
    throw ArchiveError(archive.file_name() + ": not a TorchScript archive: " + what);
  };
  if (archive.Find("model.json"))
    refuse("the format of PyTorch 1.1 and before; load and save it again with a newer torch");
  if (archive.Find("archive_format") || archive.Find("archive_version") ||
      archive.Find("serialized_exported_program.json")) {
    refuse("an exported program (.pt2)");
  }
  if (archive.Find(".data/extern_modules")) refuse("a package of torch.package");
  if (!archive.Find("data.pkl")) refuse("it has no record 'data.pkl'");
  if (!archive.Find("constants.pkl")) {
    refuse("weights or other values that torch.save wrote, without code; save the module with torch.jit.save");
  }
}

int64_t ReadVersion(const ZipReader& archive) {
  const ZipRecord* record = archive.Find(".data/version");
  if (!record) record = archive.Find("version");
  if (!record) throw ArchiveError(archive.file_name() + ": the archive has no version");
  const RecordBytes bytes = archive.Read(*record);
  std::string_view text = bytes.view();
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  int64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size() || version < kLowestVersion ||
      version > kHighestVersion) {
    throw ArchiveError(archive.file_name() + ": the archive's version is '" + std::string(text.substr(0, 40)) +
                       "'; versions " + std::to_string(kLowestVersion) + " to " + std::to_string(kHighestVersion) +
                       " are read");
  }
  return version;
}

class ModuleImporter : public PickleDelegate {
 public:
  ModuleImporter(std::shared_ptr<const Mapping> file, const ImportOptions& options)
      : options_(options), archive_(std::make_shared<const ZipReader>(std::move(file))) {}

  ImportedModule Import() {
    RefuseOtherFormats(*archive_);
    ImportedModule module;
    module.version = ReadVersion(*archive_);
    module.archive = archive_;
    module.unit = unit_ = CompilationUnit::Create();
    big_endian_ = IsBigEndian(*archive_);
    sources_.emplace(
        unit_, [this](const std::string& qualifier) { return LoadSource(qualifier); }, &constants_, module.version);
    ReadConstants();
    const c10::IValue root = ReadRecord("data.pkl", "data/");
    if (!root.isObject()) {
      throw ArchiveError(archive_->file_name() + ": data.pkl holds a " + root.tagKind() + ", not a module");
    }
    sources_->DefineAll();
    FillStorages();
    module.object = root.toObject();
    return module;
  }

  c10::TypePtr ResolveType(std::string_view annotation) override { return sources_->ParseType(annotation); }

  c10::TypePtr ResolveClass(const std::string& qualified_name) override {
    if (!StartsWith(qualified_name, kNativeClasses)) return sources_->LoadType(qualified_name);
    c10::TypePtr type = torch::getCustomClass(qualified_name);
    if (!type) {
      throw ArchiveError(archive_->file_name() + ": the C++ class " + qualified_name +
                         " is not registered; the library that has it must be loaded first");
    }
    return type;
  }

  c10::IValue MakeObject(const c10::TypePtr& type, const c10::IValue& state) override {
    const c10::ClassTypePtr class_type = type->cast<c10::ClassType>();
    if (!class_type) throw ArchiveError("an object is made of " + type->annotation_str() + ", which is no class");
    auto object = c10::ivalue::Object::create(c10::WeakOrStrongTypePtr(c10::WeakTypePtr(unit_->opaque(), class_type)),
                                              class_type->numAttributes());
    torch::jit::Function* set_state = FindMethod(*class_type, "__setstate__");
    if (set_state && FindMethod(*class_type, "__getstate__")) {
      SetState(*set_state, object, state);
    } else {
      SetAttributes(*class_type, *object, state);
    }
    return object;
  }

 private:
  std::shared_ptr<const Source> LoadSource(const std::string& qualifier) {
    std::string name(kCodeFolder);
    for (const char c : qualifier) name += c == '.' ? '/' : c;
    name += kCodeEnd;
    const ZipRecord* record = archive_->Find(name);
    if (!record) return nullptr;
    const RecordBytes text = archive_->Read(*record);
    std::shared_ptr<const OriginalLocations> originals;
    if (const ZipRecord* debug = archive_->Find(name + ".debug_pkl")) {
      originals = std::make_shared<const DebugRanges>(archive_, *debug);
    }
    return std::make_shared<const Source>(std::string(text.view()), name, std::move(originals));
  }

  void ReadConstants() {
    const c10::IValue constants = ReadRecord("constants.pkl", "constants/");
    if (!constants.isTuple()) throw ArchiveError(archive_->file_name() + ": constants.pkl holds no tuple");
    const auto& elements = constants.toTupleRef().elements();
    constants_.assign(elements.begin(), elements.end());
  }

  c10::IValue ReadRecord(const std::string& record, const std::string& folder) {
    StorageTable& storages = storages_.emplace_back(
        [this, folder](const std::string& key) { return archive_->Read(folder + key); }, options_.device, big_endian_,
        /*resizable=*/false,
        [this, folder](const std::string& key) -> std::optional<size_t> {
          const ZipRecord* found = archive_->Find(folder + key);
          return found ? std::optional<size_t>(found->size) : std::nullopt;
        });
    PickleOptions options;
    options.file = archive_->file_name();
    options.record = record;
    const RecordBytes bytes = archive_->Read(record);
    return ReadPickle(bytes.view(), storages, *this, options);
  }

  // The weights are only needed by what runs code, and at the end. Reading all of the file makes this thread one of
  // those that bring records, so that it waits once for the others and not at every record that one of them has begun.
  void FillStorages() {
    const LoadBudget::Pause pause;
    archive_->ReadAll();
    for (StorageTable& storages : storages_) storages.Fill();
  }

  void SetAttributes(const c10::ClassType& type, c10::ivalue::Object& object, const c10::IValue& state) {
    if (!state.isGenericDict()) {
      throw ArchiveError("the state of a " + type.annotation_str() + " is a " + state.tagKind() +
                         ", not its attributes");
    }
    const c10::impl::GenericDict attributes = state.toGenericDict();
    for (size_t i = 0; i < type.numAttributes(); ++i) {
      const std::string& name = type.getAttributeName(i);
      const auto found = attributes.find(name);
      if (found == attributes.end()) {
        throw ArchiveError("an object of class " + type.annotation_str() + " has no attribute '" + name + "'");
      }
      try {
        RestoreType(found->value(), type.getAttribute(i));
      } catch (const ArchiveError& error) {
        throw ArchiveError("attribute '" + name + "' of an object of class " + type.annotation_str() + ": " +
                           error.what());
      }
      object.setSlot(i, found->value());
    }
  }

  void SetState(torch::jit::Function& set_state, const c10::intrusive_ptr<c10::ivalue::Object>& object,
                const c10::IValue& state) {
    const c10::FunctionSchema& schema = set_state.getSchema();
    const std::string name = object->type()->annotation_str();
    if (schema.arguments().size() != 2) {
      throw ArchiveError("__setstate__ of " + name + " takes " + std::to_string(schema.arguments().size()) +
                         " arguments, not self and the state");
    }
    RestoreType(state, schema.arguments()[1].type());
    FillStorages();
    if (auto* function = dynamic_cast<Function*>(&set_state)) {
      if (!options_.run)
        throw ArchiveError("the class " + name + " runs code when it is loaded, and nothing can run it");
      options_.run(*unit_, *function, {object, state});
    } else {
      // Their state is read as memory of the host, wherever it is.
      if (!options_.device.is_cpu() && StartsWith(name, kPackedWeights)) {
        throw ArchiveError("the archive has packed weights of quantized layers (" + name +
                           "), which run on a CPU only, and is loaded to " + options_.device.str());
      }
      torch::jit::Stack stack = {object, state};
      set_state.run(stack);
    }
    const c10::ClassType& type = *object->type();
    for (size_t i = 0; i < type.numAttributes(); ++i) {
      const c10::TypeKind kind = type.getAttribute(i)->kind();
      const bool may_be_none = kind == c10::TypeKind::OptionalType || kind == c10::TypeKind::NoneType ||
                               kind == c10::TypeKind::UnionType || kind == c10::TypeKind::AnyType;
      if (!may_be_none && object->getSlot(i).isNone()) {
        throw ArchiveError("__setstate__ of " + name + " does not set the attribute '" + type.getAttributeName(i) +
                           "'");
      }
    }
  }

  const ImportOptions& options_;
  std::shared_ptr<const ZipReader> archive_;
  std::shared_ptr<CompilationUnit> unit_;
  std::vector<c10::IValue> constants_;
  std::optional<SourceImporter> sources_;
  std::deque<StorageTable> storages_;  // of constants.pkl and data.pkl
  bool big_endian_ = false;
};

}  // namespace

ImportedModule ImportModule(std::shared_ptr<const Mapping> file, const ImportOptions& options) {
  return ModuleImporter(std::move(file), options).Import();
}

std::vector<std::pair<std::string, std::string>> ReadSources(const ZipReader& archive) {
  std::vector<std::pair<std::string, std::string>> sources;
  for (const ZipRecord& record : archive.records()) {
    if (!StartsWith(record.name, kCodeFolder) || !EndsWith(record.name, kCodeEnd)) continue;
    sources.emplace_back(record.name, archive.Read(record).view());
  }
  return sources;
}

}  // namespace hearth
