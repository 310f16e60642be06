#include "jit/archive/importer.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sstream>

#include "jit/archive/test_values.h"
#include "jit/support/errors.h"

namespace hearth {
namespace {

using testing::HasSubstr;

// In place of an interpreter: what WithState.__setstate__ of test_modules.py does.
c10::IValue SetState(CompilationUnit&, Function& function, std::vector<c10::IValue> arguments) {
  EXPECT_EQ(function.name(), "__setstate__");
  const auto object = arguments[0].toObject();
  const auto state = arguments[1].toTuple();
  EXPECT_EQ(state->elements()[1].type()->annotation_str(), "List[str]");
  object->setAttr("scale", state->elements()[0].toDouble() * 2);
  object->setAttr("names", state->elements()[1]);
  object->setAttr("training", state->elements()[2]);
  return {};
}

ImportedModule Import(std::shared_ptr<const Mapping> file) {
  ImportOptions options;
  options.run = SetState;
  return ImportModule(std::move(file), options);
}

ImportedModule Import(const std::string& name) {
  return Import(Mapping::Open(TestFilesFolder() + name, Mapping::Mode::kPrivateCopy));
}

std::string Message(const std::function<void()>& action) {
  try {
    action();
  } catch (const ArchiveError& error) {
    return error.what();
  } catch (const CompileError& error) {
    return error.what();
  }
  return "";
}

std::string ImportError(const std::string& name) {
  return Message([&] { Import(name); });
}

TEST(Importer, ModulesHaveTheAttributesThatTorchLoads) {
  const std::vector<std::string> files = TestFilesEndingIn(".archive");
  EXPECT_GT(files.size(), 10u);
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const torch::jit::Module oracle = torch::jit::load(file);
    const ImportedModule module = Import(Mapping::Open(file, Mapping::Mode::kPrivateCopy));
    EXPECT_EQ(Describe(module.object), Describe(oracle._ivalue()));
    EXPECT_EQ(module.object->type()->annotation_str(), oracle._ivalue()->type()->annotation_str());
  }
}

TEST(Importer, ContainersHaveTheTypesOfTheirAttributes) {
  for (const char* file : {"attributes.archive", "untagged.archive"}) {
    const ImportedModule module = Import(file);
    const auto type = module.object->type();
    for (size_t i = 0; i < type->numAttributes(); ++i) {
      const c10::IValue& value = module.object->getSlot(i);
      if (!value.isList() && !value.isGenericDict()) continue;
      EXPECT_EQ(value.type()->annotation_str(), type->getAttribute(i)->kind() == c10::TypeKind::OptionalType
                                                    ? type->getAttribute(i)->containedType(0)->annotation_str()
                                                    : type->getAttribute(i)->annotation_str());
    }
  }
}

TEST(Importer, CpuWeightsAreViewsOfTheFileAndKeepItAlive) {
  at::Tensor weight;
  {
    const ImportedModule module = Import("scripted.archive");
    weight = module.object->getAttr("weight").toTensor();
    const std::string_view bytes = module.archive->mapping()->bytes();
    const char* data = static_cast<const char*>(weight.data_ptr());
    EXPECT_TRUE(data >= bytes.data() && data < bytes.data() + bytes.size());
    EXPECT_TRUE(weight.requires_grad());
    EXPECT_FALSE(weight.is_inference());
  }
  EXPECT_EQ(weight.detach().sum().item<float>(), 6);
}

TEST(Importer, SharedModulesAndTiedWeightsStayShared) {
  const ImportedModule module = Import("shared.archive");
  const auto attribute = [&](const std::string& name) { return module.object->getAttr(name); };
  const auto oracle = torch::jit::load(TestFilesFolder() + "shared.archive")._ivalue();
  EXPECT_TRUE(oracle->getAttr("a").is(oracle->getAttr("b")));
  EXPECT_TRUE(attribute("a").is(attribute("b")));
  EXPECT_TRUE(attribute("a").toObject()->getAttr("weight").is(attribute("tied").toObject()->getAttr("weight")));
  EXPECT_TRUE(attribute("row").toTensor().storage().is_alias_of(attribute("transposed").toTensor().storage()));
}

TEST(Importer, EveryFunctionIsDefined) {
  const ImportedModule module = Import("attributes.archive");
  EXPECT_FALSE(module.unit->functions().empty());
  for (const auto& function : module.unit->functions()) EXPECT_TRUE(function->defined());
}

TEST(Importer, ObjectsDoNotKeepTheirUnitAlive) {
  std::weak_ptr<CompilationUnit> unit;
  {
    const ImportedModule module = Import("attributes.archive");
    unit = module.unit;
  }
  EXPECT_TRUE(unit.expired());
}

TEST(Importer, ListsTheFilesOfCode) {
  const ImportedModule module = Import("untagged.archive");
  const auto sources = ReadSources(*module.archive);
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].first, "code/__torch__.py");
  EXPECT_THAT(sources[0].second, HasSubstr("class M(Module):"));
}

TEST(Importer, AcceptsTheVersionsOneToTen) {
  for (int version = 1; version <= 10; ++version) {
    EXPECT_EQ(Import("version_" + std::to_string(version) + ".changed").version, version);
  }
  EXPECT_THAT(ImportError("version_0.changed"), HasSubstr("the archive's version is '0'; versions 1 to 10 are read"));
  EXPECT_THAT(ImportError("version_11.changed"), HasSubstr("'11'"));
  EXPECT_THAT(ImportError("version_x.changed"), HasSubstr("'x'"));
  EXPECT_THAT(ImportError("version_.changed"), HasSubstr("''"));
  EXPECT_THAT(ImportError("no_version.changed"), HasSubstr("has no version"));
  EXPECT_EQ(Import("two_versions.changed").version, 6);
}

TEST(Importer, SaysWhatIsMissingOrWrong) {
  EXPECT_THAT(ImportError("no_data.changed"), HasSubstr("has no record 'data.pkl'"));
  EXPECT_THAT(ImportError("no_constants.changed"), HasSubstr("without code"));
  EXPECT_THAT(ImportError("no_code.changed"), HasSubstr("__torch__."));
  EXPECT_THAT(ImportError("no_weight.changed"), HasSubstr("record 'data/0' is missing"));
  EXPECT_THAT(ImportError("short_weight.changed"),
              HasSubstr("storage '0' has 23 bytes, but 6 elements of Float need 24"));
  EXPECT_THAT(ImportError("missing_attribute.changed"), HasSubstr("__torch__.M has no attribute 'maybe'"));
  EXPECT_THAT(ImportError("wrong_attribute.changed"),
              HasSubstr("attribute 'numbers' of an object of class __torch__.M: a value of type int was expected"));
}

TEST(Importer, TellsOtherFormatsApart) {
  EXPECT_THAT(ImportError("legacy.changed"), HasSubstr("PyTorch 1.1"));
  EXPECT_THAT(ImportError("exported.changed"), HasSubstr("an exported program (.pt2)"));
  EXPECT_THAT(ImportError("package.changed"), HasSubstr("torch.package"));
  EXPECT_THAT(ImportError("mixed.pt"), HasSubstr("torch.save wrote, without code"));
  EXPECT_THAT(ImportError("old_format.refused"), HasSubstr("before PyTorch 1.6"));
}

TEST(Importer, AnArchiveCutOffAnywhereIsRefused) {
  const std::string whole = ReadTestFile(TestFilesFolder() + "scripted.archive");
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto file = Mapping::Copy(std::string_view(whole).substr(0, size), "cut");
    EXPECT_NE(Message([&] { Import(file); }), "") << size;
  }
}

TEST(Importer, AFlippedBitIsAnErrorOrChangesNothing) {
  const std::string whole = ReadTestFile(TestFilesFolder() + "scripted.archive");
  const std::string expected = Describe(Import("scripted.archive").object);
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const auto file = Mapping::Copy(flipped, "flipped");
    Message([&] { EXPECT_EQ(Describe(Import(file).object), expected) << bit; });
  }
}

}  // namespace
}  // namespace hearth
