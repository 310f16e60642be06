#include "jit/archive/pickle_globals.h"

#include <c10/core/QScheme.h>
#include <c10/core/ScalarType.h>

#include <string>
#include <unordered_map>

namespace hearth {
namespace {

using Table = std::unordered_map<std::string, GlobalEntry>;

// Storage and dtype names follow from LibTorch's own list of scalar types.
void AddScalarTypes(Table* table) {
  for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
    const auto type = static_cast<c10::ScalarType>(i);
    if (type == c10::ScalarType::Undefined) continue;
    const std::string storage = std::string(c10::toString(type)) + "Storage";
    table->emplace("torch\n" + storage, GlobalEntry{Global::kStorageType, i});
    const auto [name, legacy_name] = c10::getDtypeNames(type);
    for (const std::string& dtype : {name, legacy_name}) {
      if (!dtype.empty()) table->emplace("torch\n" + dtype, GlobalEntry{Global::kDtype, i});
    }
  }
  const auto byte = static_cast<int64_t>(c10::ScalarType::Byte);
  table->emplace("torch.storage\nUntypedStorage", GlobalEntry{Global::kStorageType, byte});
  table->emplace("torch\nUntypedStorage", GlobalEntry{Global::kStorageType, byte});
}

void AddQSchemes(Table* table) {
  const auto add = [&](const char* name, c10::QScheme scheme) {
    table->emplace(std::string("torch\n") + name, GlobalEntry{Global::kQScheme, static_cast<int64_t>(scheme)});
  };
  add("per_tensor_affine", c10::kPerTensorAffine);
  add("per_channel_affine", c10::kPerChannelAffine);
  add("per_tensor_symmetric", c10::kPerTensorSymmetric);
  add("per_channel_symmetric", c10::kPerChannelSymmetric);
  add("per_channel_affine_float_qparams", c10::kPerChannelAffineFloatQParams);
}

Table MakeTable() {
  Table table;
  AddScalarTypes(&table);
  AddQSchemes(&table);
  const auto add = [&](const char* name, Global global) { table.emplace(name, GlobalEntry{global, 0}); };
  add("torch._utils\n_rebuild_tensor_v2", Global::kRebuildTensorV2);
  add("torch._utils\n_rebuild_tensor_v3", Global::kRebuildTensorV3);
  add("torch._utils\n_rebuild_qtensor", Global::kRebuildQTensor);
  add("torch._utils\n_rebuild_sparse_tensor", Global::kRebuildSparseTensor);
  add("torch._utils\n_rebuild_meta_tensor_no_storage", Global::kRebuildMetaTensor);
  add("torch._utils\n_rebuild_parameter", Global::kRebuildParameter);
  add("torch._utils\n_rebuild_parameter_with_state", Global::kRebuildParameterWithState);
  add("torch._tensor\n_rebuild_from_type_v2", Global::kRebuildFromTypeV2);
  add("torch\nTensor", Global::kPythonType);
  add("torch.nn.parameter\nParameter", Global::kPythonType);
  add("torch.nn.parameter\nBuffer", Global::kPythonType);
  add("torch\ndevice", Global::kDevice);
  add("torch\nSize", Global::kSize);
  add("builtins\ncomplex", Global::kComplex);
  add("__builtin__\ncomplex", Global::kComplex);
  add("collections\nOrderedDict", Global::kOrderedDict);
  add("torch.serialization\n_get_layout", Global::kGetLayout);
  add("_codecs\nencode", Global::kEncode);
  add("torch.jit._pickle\nbuild_intlist", Global::kBuildIntList);
  add("__main__\nIntList", Global::kBuildIntList);
  add("torch.jit._pickle\nbuild_doublelist", Global::kBuildDoubleList);
  add("torch.jit._pickle\nbuild_boollist", Global::kBuildBoolList);
  add("torch.jit._pickle\nbuild_tensorlist", Global::kBuildTensorList);
  add("torch.jit._pickle\nrestore_type_tag", Global::kRestoreTypeTag);
  return table;
}

}  // namespace

std::optional<GlobalEntry> FindGlobal(std::string_view name) {
  static const Table table = MakeTable();
  const auto found = table.find(std::string(name));
  if (found == table.end()) return std::nullopt;
  return found->second;
}

}  // namespace hearth
