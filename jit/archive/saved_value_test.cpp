#include "jit/archive/saved_value.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "jit/archive/mapping.h"
#include "jit/archive/test_values.h"
#include "jit/support/errors.h"

namespace hearth {
namespace {

// What torch.load makes of files, a text each.
std::string WhatTorchReads(const std::vector<std::string>& files) {
  std::string command = ".venv/bin/python -W ignore jit/archive/test_load.py";
  for (const std::string& file : files) command += " " + file;
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  char buffer[4096];
  while (const size_t size = std::fread(buffer, 1, sizeof(buffer), pipe)) out.append(buffer, size);
  EXPECT_EQ(pclose(pipe), 0);
  return out;
}

std::string SavedValueError(const std::string& path) {
  try {
    ReadSavedFile(path);
  } catch (const ArchiveError& error) {
    return error.what();
  }
  return "";
}

std::string ErrorOfBytes(std::string_view bytes) {
  try {
    ReadSavedMapping(Mapping::Copy(bytes, "bytes"));
  } catch (const ArchiveError& error) {
    return error.what();
  }
  return "";
}

TEST(SavedValue, ReadsEverythingThatTorchSaveWritesAsPythonSeesIt) {
  const std::vector<std::string> files = TestFilesEndingIn(".txt");
  EXPECT_GT(files.size(), 30u);
  for (const std::string& text : files) {
    const std::string file = text.substr(0, text.size() - 4) + ".pt";
    EXPECT_EQ(Describe(ReadSavedFile(file)), ReadTestFile(text)) << file;
  }
}

TEST(SavedValue, TorchLoadReadsBackEverythingThatIsWritten) {
  std::vector<std::string> written;
  std::string expected;
  for (const std::string& text : TestFilesEndingIn(".txt")) {
    const std::string file = text.substr(0, text.size() - 4);
    const c10::IValue value = ReadSavedFile(file + ".pt");
    WriteSavedFile(value, file + ".written");
    written.push_back(file + ".written");
    expected += Describe(value) + "\n";
  }
  EXPECT_EQ(WhatTorchReads(written), expected);
}

TEST(SavedValue, ContainersHaveTheTypeOfWhatIsInThem) {
  const c10::IValue mixed = ReadSavedFile(TestFilesFolder() + "mixed.pt");
  EXPECT_EQ(mixed.type()->annotation_str(), "Dict[str, Any]");
  const auto args = mixed.toGenericDict().at("args").toTuple();
  EXPECT_EQ(args->elements()[1].type()->annotation_str(), "List[int]");
  const c10::IValue nested = ReadSavedFile(TestFilesFolder() + "nested.pt");
  EXPECT_EQ(nested.toTuple()->elements().back().type()->annotation_str(), "Dict[str, Dict[str, List[float]]]");
  const c10::IValue parameters = ReadSavedFile(TestFilesFolder() + "parameters.pt");
  EXPECT_EQ(parameters.type()->annotation_str(), "List[Tensor]");
  const c10::IValue numbers = ReadSavedFile(TestFilesFolder() + "numbers.pt");
  EXPECT_EQ(numbers.type()->annotation_str(), "List[Any]");
}

TEST(SavedValue, ViewsOfOneStorageStillShareItAfterReadingAndWriting) {
  WriteSavedFile(ReadSavedFile(TestFilesFolder() + "views.pt"), TestFilesFolder() + "views.again");
  const c10::IValue views = ReadSavedFile(TestFilesFolder() + "views.again");
  const auto& elements = views.toTupleRef().elements();
  elements[0].toTensor()[2][3].fill_(42);
  EXPECT_EQ(elements[1].toTensor()[3][2].item<float>(), 42);
  EXPECT_EQ(elements[4].toTensor().item<float>(), 42);
}

TEST(SavedValue, AListThatIsInTheValueTwiceStaysOneList) {
  const std::string path = TestFilesFolder() + "twice.pt";
  const c10::List<int64_t> list({1, 2});
  WriteSavedFile(c10::ivalue::Tuple::create(list, list), path);
  const auto pair = ReadSavedFile(path).toTuple();
  EXPECT_TRUE(pair->elements()[0].is(pair->elements()[1]));
}

TEST(SavedValue, TensorsReadFromAFileCanBeWrittenInPlaceWithoutChangingTheFile) {
  const std::string path = TestFilesFolder() + "in_place.pt";
  WriteSavedFile(at::ones({4}), path);
  const std::string before = ReadTestFile(path);
  ReadSavedFile(path).toTensor().add_(1);
  EXPECT_EQ(ReadTestFile(path), before);
}

TEST(SavedValue, TensorsReadFromAFileCanBeResizedAsThoseThatAProgramMade) {
  const c10::IValue views = ReadSavedFile(TestFilesFolder() + "views.pt");
  at::Tensor tensor = views.toTupleRef().elements()[0].toTensor();
  const at::Tensor before = tensor.clone();
  tensor.resize_({1000, 1000});
  EXPECT_EQ(tensor.sizes(), c10::IntArrayRef({1000, 1000}));
  EXPECT_TRUE(tensor.flatten().slice(0, 0, before.numel()).equal(before.flatten()));
}

TEST(SavedValue, StringsThatAreNoTextBecomeBytes) {
  const std::string path = TestFilesFolder() + "no_text.pt";
  WriteSavedFile(std::string("\xC0\x80 \xED\xA0 \xFF", 7), path);
  EXPECT_EQ(WhatTorchReads({path}), "'c08020eda020ff'\n");
}

TEST(SavedValue, RefusesWhatItDoesNotReadAndSaysWhatItIs) {
  const std::string& folder = TestFilesFolder();
  EXPECT_THAT(SavedValueError(folder + "old_format.refused"),
              testing::HasSubstr("torch.save wrote before PyTorch 1.6"));
  EXPECT_THAT(SavedValueError(folder + "protocol_4.refused"), testing::HasSubstr("pickle protocol 4 is not read"));
  EXPECT_THAT(SavedValueError(folder + "object.refused"), testing::HasSubstr("names 'torch.nn.modules.linear.Linear'"));
  EXPECT_THAT(SavedValueError(folder + "number_of_numpy.refused"), testing::HasSubstr("names '__builtin__.slice'"));
  EXPECT_THAT(SavedValueError(folder + "set.refused"), testing::HasSubstr("names '__builtin__.set'"));
  EXPECT_THAT(SavedValueError(folder + "huge_integer.refused"), testing::HasSubstr("more than 64 bits"));
}

TEST(SavedValue, AFileThatCannotBeReadIsToldApartFromABadOne) {
  try {
    ReadSavedFile("/nowhere/in.pt");
    FAIL();
  } catch (const FileError& error) {
    EXPECT_EQ(error.error_number(), ENOENT);
  }
  EXPECT_THROW(ReadSavedFile("/tmp"), FileError);
}

TEST(SavedValue, AFailedWriteLeavesNoFile) {
  const std::string folder = TestFilesFolder() + "empty_folder/";
  std::filesystem::create_directory(folder);
  const c10::IValue generator = c10::IValue(c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get()));
  EXPECT_THROW(WriteSavedFile(generator, folder + "out.pt"), ArchiveError);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(SavedValue, AFileCutOffAnywhereIsRefused) {
  const std::string whole = ReadTestFile(TestFilesFolder() + "mixed.pt");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(ErrorOfBytes(std::string_view(whole).substr(0, size)), "") << size;
  }
}

TEST(SavedValue, AFlippedBitIsAnErrorOrChangesNothing) {
  const std::string whole = ReadTestFile(TestFilesFolder() + "mixed.pt");
  const std::string expected = ReadTestFile(TestFilesFolder() + "mixed.txt");
  size_t errors = 0;
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    try {
      EXPECT_EQ(Describe(ReadSavedMapping(Mapping::Copy(flipped, "bytes"))), expected) << bit;
    } catch (const ArchiveError&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, whole.size() * 8 / 10);
}

}  // namespace
}  // namespace hearth
