#include "jit/archive/pickle.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <map>
#include <string>

#include "jit/archive/test_values.h"

namespace hearth {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// One class __torch__.Pair with the attributes a: int and b: List[int], and one enum __torch__.Color.
class TestDelegate : public PlainPickleDelegate {
 public:
  TestDelegate() {
    pair_ = c10::ClassType::create(c10::QualifiedName("__torch__.Pair"), {});
    pair_->addAttribute("a", c10::IntType::get());
    pair_->addAttribute("b", c10::AnyType::get());
    color_ = c10::EnumType::create(c10::QualifiedName("__torch__.Color"), c10::IntType::get(),
                                   {{"RED", c10::IValue(1)}, {"BLUE", c10::IValue(2)}}, {});
  }

  c10::TypePtr ResolveClass(const std::string& name) override {
    if (name == "__torch__.Pair") return pair_;
    if (name == "__torch__.Color") return color_;
    return nullptr;
  }

  c10::IValue MakeObject(const c10::TypePtr& type, const c10::IValue& state) override {
    auto object =
        c10::ivalue::Object::create(c10::WeakOrStrongTypePtr(c10::WeakTypePtr({}, type->expect<c10::ClassType>())), 2);
    object->setSlot(0, state.toGenericDict().at("a"));
    object->setSlot(1, state.toGenericDict().at("b"));
    return object;
  }

 private:
  c10::ClassTypePtr pair_;
  std::shared_ptr<c10::EnumType> color_;
};

// Storages of tests: the record under key "k" holds that many bytes, counting up.
const std::map<std::string, size_t> kStorages = {{"four_floats", 16}, {"empty", 0}, {"odd", 7}};

RecordBytes TestStorage(const std::string& key) {
  const auto found = kStorages.find(key);
  if (found == kStorages.end()) throw ArchiveError("m.pt: record 'data/" + key + "' is missing");
  auto bytes = std::shared_ptr<char>(static_cast<char*>(::operator new (found->second + 1, std::align_val_t{64})),
                                     [](char* data) { ::operator delete (data, std::align_val_t{64}); });
  for (size_t i = 0; i < found->second; ++i) bytes.get()[i] = static_cast<char>(i);
  return {bytes.get(), found->second, bytes};
}

c10::IValue Read(std::string_view bytes, PickleOptions options = {}) {
  StorageTable storages(TestStorage, c10::Device(c10::kCPU), /*big_endian=*/false);
  TestDelegate delegate;
  options.file = "m.pt";
  options.record = "data.pkl";
  return ReadPickle(bytes, storages, delegate, options);
}

std::string PickleError(std::string_view bytes, const PickleOptions& options = {}) {
  try {
    Read(bytes, options);
  } catch (const ArchiveError& error) {
    EXPECT_THAT(error.what(), StartsWith("m.pt: "));
    return error.what();
  }
  return "";
}

// Parts of pickles.
std::string Text(const std::string& text) {
  const auto size = static_cast<uint32_t>(text.size());
  return "X" + std::string{static_cast<char>(size), static_cast<char>(size >> 8), 0, 0} + text;
}

std::string Int(int64_t value) {
  std::string out = "\x8a\x08";
  for (int i = 0; i < 8; ++i) out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  return out;
}

std::string Tuple(const std::vector<std::string>& elements) {
  std::string out = "(";
  for (const std::string& element : elements) out += element;
  return out + "t";
}

std::string Ints(const std::vector<int64_t>& values) {
  std::vector<std::string> elements;
  for (const int64_t value : values) elements.push_back(Int(value));
  return Tuple(elements);
}

std::string Storage(const std::string& key, int64_t numel, const std::string& type = "FloatStorage",
                    const std::string& device = "cpu") {
  return Tuple({Text("storage"), "ctorch\n" + type + "\n", Text(key), Text(device), Int(numel)}) + "Q";
}

std::string Tensor(const std::string& storage, int64_t offset, const std::vector<int64_t>& sizes,
                   const std::vector<int64_t>& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n" +
         Tuple({storage, Int(offset), Ints(sizes), Ints(strides), "\x89", "ccollections\nOrderedDict\n)R"}) + "R";
}

std::string Call(const std::string& module, const std::string& name, const std::vector<std::string>& arguments) {
  return "c" + module + "\n" + name + "\n" + Tuple(arguments) + "R";
}

std::string Pickle(const std::string& body) { return "\x80\x02" + body + "."; }

std::string WrittenByTorch(const c10::IValue& value) {
  const std::vector<char> bytes = torch::jit::pickle(value);
  return {bytes.begin(), bytes.end()};
}

// ---------------------------------------------------------------------------------------------------------------------

TEST(Pickle, ValuesThatTorchPicklesComeBackWithTheirTypes) {
  c10::impl::GenericDict dict(c10::StringType::get(), c10::ListType::ofInts());
  dict.insert("a", c10::List<int64_t>({1, 2, 3}));
  dict.insert("empty", c10::List<int64_t>());
  c10::impl::GenericList optional(c10::OptionalType::create(c10::IntType::get()));
  optional.push_back(1);
  optional.push_back(c10::IValue());
  const std::vector<c10::IValue> values = {
      c10::IValue(),
      true,
      int64_t{-5},
      int64_t{1} << 40,
      std::numeric_limits<int64_t>::min(),
      2.5,
      c10::complex<double>(1, -2),
      "text",
      c10::Device("cuda:1"),
      c10::List<int64_t>({1, 300, -70000}),
      c10::List<double>({1.5}),
      c10::List<bool>({true, false}),
      dict,
      optional,
      c10::ivalue::Tuple::create({1, c10::ivalue::Tuple::create({2.5, "x"})}),
      c10::ivalue::Tuple::create(std::vector<c10::IValue>()),
      c10::ivalue::Tuple::create(std::vector<c10::IValue>(10, 7)),
  };
  for (const c10::IValue& value : values) {
    const c10::IValue read = Read(WrittenByTorch(value));
    EXPECT_EQ(Describe(read), Describe(value));
    EXPECT_EQ(read.type()->annotation_str(), value.type()->annotation_str());
  }
}

TEST(Pickle, AListThatIsReachedTwiceStaysOne) {
  const c10::List<int64_t> list({1, 2});
  const auto pair = Read(WrittenByTorch(c10::ivalue::Tuple::create(list, list))).toTuple();
  EXPECT_TRUE(pair->elements()[0].is(pair->elements()[1]));
}

TEST(Pickle, ObjectsAndEnumsAreMadeByTheDelegate) {
  const std::string state = "}(" + Text("a") + "K\x07" + Text("b") + "c__torch__\nColor\nK\x02Ru";
  const c10::IValue object = Read(Pickle("c__torch__\nPair\n)\x81" + state + "b"));
  EXPECT_EQ(object.toObjectRef().getSlot(0), 7);
  EXPECT_EQ(object.toObjectRef().getSlot(1).toEnumHolder()->name(), "BLUE");
}

TEST(Pickle, ACpuTensorIsAViewOfItsRecordAndKeepsItAlive) {
  at::Tensor tensor = Read(Pickle(Tensor(Storage("four_floats", 4), 1, {3}, {1}))).toTensor();
  EXPECT_EQ(tensor.numel(), 3);
  EXPECT_EQ(static_cast<const char*>(tensor.data_ptr())[0], 4);
  EXPECT_FALSE(tensor.is_inference());
}

TEST(Pickle, TheDeviceThatAStorageWasSavedFromDoesNotMatter) {
  const std::string storage = Storage("four_floats", 4, "FloatStorage", "cuda:3");
  EXPECT_TRUE(Read(Pickle(Tensor(storage, 0, {4}, {1}))).toTensor().device().is_cpu());
  EXPECT_TRUE(Read(Pickle(Tensor(Storage("absent", 4, "FloatStorage", "meta"), 0, {4}, {1}))).toTensor().is_meta());
}

TEST(Pickle, TensorsOfOneKeyShareTheirStorage) {
  const std::string storage = Storage("four_floats", 4);
  const auto pair = Read(Pickle(Tensor(storage, 0, {4}, {1}) + Tensor(storage, 0, {2, 2}, {1, 2}) + "\x86")).toTuple();
  EXPECT_TRUE(pair->elements()[0].toTensor().storage().is_alias_of(pair->elements()[1].toTensor().storage()));
}

TEST(Pickle, AStorageWithoutElementsNeedsNoRecord) {
  EXPECT_EQ(Read(Pickle(Tensor(Storage("no such key", 0), 0, {0, 3}, {3, 1}))).toTensor().sizes().vec(),
            (std::vector<int64_t>{0, 3}));
}

TEST(Pickle, AnEmptyRecordIsNeverReadAsElements) {
  const std::string pickle = Pickle(Tensor(Storage("empty", 4), 0, {4}, {1}));
  EXPECT_THAT(PickleError(pickle), HasSubstr("storage 'empty' has 0 bytes, but 4 elements of Float need 16"));
  PickleOptions options;
  options.empty_records_as_meta = true;
  EXPECT_TRUE(Read(pickle, options).toTensor().is_meta());
}

TEST(Pickle, RefusesTensorsThatReachPastTheirStorage) {
  const auto error = [](int64_t offset, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
    return PickleError(Pickle(Tensor(Storage("four_floats", 4), offset, sizes, strides)));
  };
  EXPECT_EQ(error(0, {4}, {1}), "");
  EXPECT_EQ(error(3, {1000}, {0}), "");
  EXPECT_THAT(error(0, {5}, {1}), HasSubstr("reaches past its storage of 4 elements of Float"));
  EXPECT_THAT(error(1, {4}, {1}), HasSubstr("reaches past"));
  EXPECT_THAT(error(0, {2, 2}, {3, 1}), HasSubstr("reaches past"));
  EXPECT_THAT(error(4, {1}, {1}), HasSubstr("reaches past"));
  EXPECT_EQ(error(100, {0}, {1}), "");
  EXPECT_THAT(error(-1, {1}, {1}), HasSubstr("begins before its storage"));
  EXPECT_THAT(error(0, {-1}, {1}), HasSubstr("negative size"));
  EXPECT_THAT(error(3, {2}, {-1}), HasSubstr("negative stride"));
  EXPECT_THAT(error(0, {2, 2}, {1}), HasSubstr("another number of strides"));
  EXPECT_THAT(error(0, {int64_t{1} << 62, 4}, {0, 0}), HasSubstr("too many elements"));
  EXPECT_THAT(error(0, {3}, {int64_t{1} << 62}), HasSubstr("too many elements"));
  EXPECT_THAT(error(0, std::vector<int64_t>(1001, 1), std::vector<int64_t>(1001, 1)), HasSubstr("1000 dimensions"));
}

TEST(Pickle, RefusesStoragesThatAreNotWhatTheySay) {
  EXPECT_THAT(PickleError(Pickle(Tensor(Storage("four_floats", 5), 0, {1}, {1}))), HasSubstr("need 20"));
  EXPECT_THAT(PickleError(Pickle(Tensor(Storage("odd", 2), 0, {1}, {1}))), HasSubstr("has 7 bytes"));
  EXPECT_THAT(PickleError(Pickle(Tensor(Storage("four_floats", -1), 0, {1}, {1}))), HasSubstr("impossible number"));
  EXPECT_THAT(PickleError(Pickle(Tensor(Storage("four_floats", int64_t{1} << 62), 0, {1}, {1}))),
              HasSubstr("impossible number"));
  EXPECT_THAT(PickleError(Pickle(Tensor(Storage("absent", 1), 0, {1}, {1}))), HasSubstr("'data/absent' is missing"));
  EXPECT_THAT(PickleError(Pickle(Tensor(Storage("four_floats", 4, "QInt8Storage"), 0, {1}, {1}))),
              HasSubstr("no quantizer"));
  EXPECT_THAT(PickleError(Pickle(Storage("four_floats", 4))), HasSubstr("bare storage"));
}

TEST(Pickle, RefusesQuantizersThatDoNotFit) {
  const auto quantized = [](const std::string& quantizer) {
    return Pickle(Call("torch._utils", "_rebuild_qtensor",
                       {Storage("four_floats", 16, "QInt8Storage"), Int(0), Ints({2, 2}), Ints({2, 1}), quantizer,
                        "\x89", "ccollections\nOrderedDict\n)R"}));
  };
  const std::string scales = Tensor(Storage("four_floats", 2, "DoubleStorage"), 0, {2}, {1});
  const std::string zeros = Tensor(Storage("four_floats", 2, "LongStorage"), 0, {2}, {1});
  const std::string one_zero = Tensor(Storage("four_floats", 2, "LongStorage"), 0, {1}, {1});
  const std::string by_channel = "ctorch\nper_channel_affine\n";
  EXPECT_EQ(PickleError(quantized(Tuple({by_channel, scales, zeros, Int(1)}))), "");
  EXPECT_THAT(PickleError(quantized(Tuple({by_channel, scales, zeros, Int(2)}))), HasSubstr("along axis 2"));
  EXPECT_THAT(PickleError(quantized(Tuple({by_channel, scales, zeros, Int(-1)}))), HasSubstr("along axis -1"));
  EXPECT_THAT(PickleError(quantized(Tuple({by_channel, scales, one_zero, Int(0)}))), HasSubstr("number of channels"));
  EXPECT_THAT(PickleError(quantized(Tuple({by_channel, zeros, zeros, Int(0)}))), HasSubstr("wrong type"));
  EXPECT_THAT(PickleError(quantized(Tuple({by_channel, scales}))), HasSubstr("too few arguments"));
}

TEST(Pickle, RunsNothingThatIsNotOnTheList) {
  EXPECT_THAT(PickleError(Pickle("cos\nsystem\n" + Text("true") + "\x85R")), HasSubstr("names 'os.system'"));
  EXPECT_THAT(PickleError(Pickle("cbuiltins\neval\n")), HasSubstr("names 'builtins.eval'"));
  EXPECT_THAT(PickleError(Pickle("ctorch.distributed.rpc\nrref\n")), HasSubstr("names"));
  EXPECT_THAT(PickleError(Pickle("c__torch__\nMissing\n")), HasSubstr("__torch__.Missing is not in the archive"));
  for (const std::string opcode : {"i", "o", "\x93", "0", "2", "S'a'\n", "P1\n", "\x82\x01", "\x95"}) {
    EXPECT_THAT(PickleError(Pickle("N" + opcode)), HasSubstr("is not one that torch writes")) << opcode;
  }
}

TEST(Pickle, TypeTagsAreHeldAgainstTheValues) {
  const auto tagged = [](const std::string& value, const std::string& tag) {
    return Pickle(Call("torch.jit._pickle", "restore_type_tag", {value, Text(tag)}));
  };
  const std::string ints = "](K\1K\2e";
  EXPECT_EQ(Read(tagged(ints, "List[int]")).type()->annotation_str(), "List[int]");
  EXPECT_EQ(Read(tagged(ints, "List[Optional[int]]")).type()->annotation_str(), "List[Optional[int]]");
  EXPECT_THAT(PickleError(tagged(ints, "List[Tensor]")), HasSubstr("a value of type Tensor was expected, but a Int"));
  EXPECT_THAT(PickleError(tagged(ints, "Dict[str, int]")), HasSubstr("but a GenericList was found"));
  EXPECT_THAT(PickleError(tagged("}(" + Text("k") + "K\1u", "Dict[int, int]")), HasSubstr("type int was expected"));
  EXPECT_THAT(PickleError(tagged(ints, "List[__torch__.Missing]")), HasSubstr("type tag"));
  EXPECT_THAT(PickleError(Pickle(Call("torch.jit._pickle", "build_tensorlist", {ints}))), HasSubstr("type Tensor"));
  // The same list under two types.
  const std::string twice = std::string("]q\0", 3) +
                            Tuple({Call("torch.jit._pickle", "build_intlist", {std::string("h\0", 2)}),
                                   Call("torch.jit._pickle", "build_doublelist", {std::string("h\0", 2)})}) +
                            "\x86";
  EXPECT_THAT(PickleError(Pickle(twice)), HasSubstr("one list is used as a List[int] and as a List[float]"));
}

TEST(Pickle, NothingCanComeToHoldItself) {
  const std::string put0("q\0", 2);
  const std::string get0("h\0", 2);
  EXPECT_THAT(PickleError(Pickle("]" + put0 + "(" + get0 + "e")), HasSubstr("could come to hold itself"));
  EXPECT_THAT(PickleError(Pickle("}" + put0 + Text("k") + get0 + "s")), HasSubstr("could come to hold itself"));
  EXPECT_THAT(PickleError(Pickle("]" + put0 + "(" + get0 + "\x85" + "e")), HasSubstr("could come to hold itself"));
  // Put away first, then changed by way of the memo.
  EXPECT_THAT(PickleError(Pickle("]" + put0 + "\x85q\1" + get0 + "h\1a")), HasSubstr("could come to hold itself"));
  // The object is fetched for its own state.
  EXPECT_THAT(
      PickleError(Pickle("c__torch__\nPair\n)\x81" + put0 + "}(" + Text("a") + "K\1" + Text("b") + get0 + "ub")),
      HasSubstr("no state"));
  // Under two indices, the second of which would know nothing of a fetch by the first.
  EXPECT_THAT(PickleError(Pickle("]" + put0 + "q\1(" + get0 + "e")), HasSubstr("into the memo twice"));
  EXPECT_THAT(PickleError(Pickle("]" + put0 + get0 + "]" + put0)), HasSubstr("written twice"));
  // What is honest stays possible: a list that is there twice, the first of them full.
  EXPECT_EQ(PickleError(Pickle("]" + put0 + "(K\1e" + get0 + "\x86")), "");
}

TEST(Pickle, RefusesIndicesAndCountsThatCannotBe) {
  EXPECT_THAT(PickleError(Pickle("h\5")), HasSubstr("memo entry 5 was never written"));
  EXPECT_THAT(PickleError(Pickle(std::string("j\xff\xff\xff\x7f", 5))), HasSubstr("was never written"));
  EXPECT_THAT(PickleError(Pickle(std::string("Nr\xff\xff\xff\x7f", 6))), HasSubstr("is too large"));
  EXPECT_THAT(PickleError(Pickle(std::string("X\xff\xff\xff\x7fhi", 7))), HasSubstr("cut off"));
  EXPECT_THAT(PickleError(Pickle("\x8a\x09" + std::string(9, '\1'))), HasSubstr("more than 64 bits"));
  EXPECT_THAT(PickleError(Pickle("e")), HasSubstr("no mark"));
  EXPECT_THAT(PickleError(Pickle("(e")), HasSubstr("too few values"));
  EXPECT_THAT(PickleError(Pickle("N(\x85")), HasSubstr("too few values"));
  EXPECT_THAT(PickleError(Pickle("](NNu")), HasSubstr("no dict"));
  EXPECT_THAT(PickleError(Pickle("}(NNNu")), HasSubstr("a key without a value"));
  EXPECT_THAT(PickleError(Pickle("}(]Nu")), HasSubstr("cannot be a dict's key"));
  EXPECT_THAT(PickleError(Pickle("")), HasSubstr("more than one value"));
  EXPECT_THAT(PickleError(Pickle("NN")), HasSubstr("more than one value"));
  EXPECT_THAT(PickleError(Pickle("NNR")), HasSubstr("is no function"));
  EXPECT_THAT(PickleError(Pickle("NNb")), HasSubstr("no new object"));
  EXPECT_THAT(PickleError(Pickle("c__torch__\nPair\n)\x81")), HasSubstr("no state"));
}

TEST(Pickle, BoundsDepthAndNumberOfContainers) {
  PickleOptions options;
  options.limits.max_depth = 50;
  EXPECT_EQ(PickleError(Pickle(std::string(50, ']') + std::string(49, 'a')), options), "");
  EXPECT_THAT(PickleError(Pickle(std::string(60, ']') + std::string(59, 'a')), options),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(PickleError(Pickle("N" + std::string(60, '\x85')), options), HasSubstr("nested too deeply"));
  options.limits.max_allocations = 100;
  EXPECT_THAT(PickleError(Pickle(std::string(200, ']')), options), HasSubstr("too many strings and containers"));
  options.limits.max_bytes = 100;
  EXPECT_THAT(PickleError(Pickle(std::string(200, ']')), options), HasSubstr("larger than the limit"));
}

TEST(Pickle, DepthOfAContainerThatWasMemoizedWhenEmptyIsCounted) {
  PickleOptions options;
  options.limits.max_depth = 50;
  // Each list is put into the memo before it holds the one before it, fetched from there.
  std::string lists;
  for (char i = 0; i < 60; ++i) {
    lists += std::string("]q") + i;
    if (i > 0) lists += std::string("h") + static_cast<char>(i - 1) + "a";
  }
  EXPECT_THAT(PickleError(Pickle(Tuple({lists})), options), HasSubstr("nested too deeply"));
}

TEST(Pickle, AnyPrefixIsAnError) {
  const std::string pickle = Pickle(Tensor(Storage("four_floats", 4), 0, {2, 2}, {2, 1}) + "](K\1e" + "\x86");
  EXPECT_EQ(PickleError(pickle), "");
  for (size_t size = 0; size < pickle.size(); ++size) {
    EXPECT_NE(PickleError(std::string_view(pickle).substr(0, size)), "") << size;
  }
}

}  // namespace
}  // namespace hearth
