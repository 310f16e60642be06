#include "jit/archive/test_values.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/quantized/Quantizer.h>
#include <stdlib.h>
#include <torch/custom_class.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace hearth {
namespace {

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string DescribeDouble(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = __builtin_bswap64(bits);
  return Hex({reinterpret_cast<const char*>(&bits), sizeof(bits)});
}

std::string DescribeInts(c10::IntArrayRef numbers) {
  std::string out = "[";
  for (size_t i = 0; i < numbers.size(); ++i) out += (i ? ", " : "") + std::to_string(numbers[i]);
  return out + "]";
}

std::string Raw(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.contiguous();
  return Hex({static_cast<const char*>(plain.data_ptr()), plain.nbytes()});
}

std::string DescribeTensor(const at::Tensor& original) {
  const std::string grad = original.requires_grad() ? " grad" : "";
  const at::Tensor tensor = original.detach();
  const std::string dtype = c10::getDtypeNames(tensor.scalar_type()).first;
  const std::string sizes = DescribeInts(tensor.sizes());
  if (tensor.layout() == c10::kSparse) {
    return "sparse_coo(" + sizes + ", " + DescribeTensor(tensor._indices()) + ", " + DescribeTensor(tensor._values()) +
           ")" + grad;
  }
  if (tensor.layout() == c10::kSparseCsr) {
    return "sparse_csr(" + sizes + ", " + DescribeTensor(tensor.crow_indices()) + ", " +
           DescribeTensor(tensor.col_indices()) + ", " + DescribeTensor(tensor.values()) + ")" + grad;
  }
  if (tensor.is_meta()) return "meta(" + dtype + ", " + sizes + ", " + DescribeInts(tensor.strides()) + ")" + grad;
  const std::string where =
      sizes + ", " + DescribeInts(tensor.strides()) + ", " + std::to_string(tensor.storage_offset());
  if (tensor.is_quantized()) {
    const std::string scheme = tensor.qscheme() == c10::kPerTensorAffine
                                   ? DescribeDouble(tensor.q_scale()) + ", " + std::to_string(tensor.q_zero_point())
                                   : DescribeTensor(tensor.q_per_channel_scales()) + ", " +
                                         DescribeTensor(tensor.q_per_channel_zero_points()) + ", " +
                                         std::to_string(tensor.q_per_channel_axis());
    return "quantized(" + dtype + ", " + where + ", " + Raw(tensor.int_repr()) + ", " + scheme + ")" + grad;
  }
  return "tensor(" + dtype + ", " + where + ", " + Raw(tensor.resolve_conj().resolve_neg()) + ")" + grad;
}

std::string DescribeAll(c10::ArrayRef<c10::IValue> values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) out += (i ? ", " : "") + Describe(values[i]);
  return out;
}

}  // namespace

std::string Describe(const c10::IValue& value) {
  if (value.isNone()) return "None";
  if (value.isTensor()) return DescribeTensor(value.toTensor());
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isDouble()) return DescribeDouble(value.toDouble());
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    return "complex(" + DescribeDouble(number.real()) + ", " + DescribeDouble(number.imag()) + ")";
  }
  if (value.isString()) return "'" + Hex(value.toStringRef()) + "'";
  if (value.isDevice()) return "device(" + value.toDevice().str() + ")";
  if (value.isList()) return "[" + DescribeAll(value.toListRef()) + "]";
  if (value.isTuple()) return "(" + DescribeAll(value.toTupleRef().elements()) + ")";
  if (value.isEnum()) return Describe(value.toEnumHolder()->value());
  if (value.isCapsule()) return "capsule";
  if (value.isObject() && torch::isCustomClass(value)) {
    torch::jit::Stack stack = {value};
    value.toObjectRef().type()->getMethod("__getstate__").run(stack);
    return "state of " + Describe(stack.back());
  }
  std::string out = "{";
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      out += (out.size() > 1 ? ", " : "") + Describe(entry.key()) + ": " + Describe(entry.value());
    }
  } else {
    const auto& object = value.toObjectRef();
    for (size_t i = 0; i < object.type()->numAttributes(); ++i) {
      out += (i ? ", " : "") + Describe(object.type()->getAttributeName(i)) + ": " + Describe(object.getSlot(i));
    }
  }
  return out + "}";
}

const std::string& TestFilesFolder() {
  struct Folder {
    Folder() {
      char name[] = "/tmp/hearth_archive_test_XXXXXX";
      if (!mkdtemp(name)) abort();
      path = std::string(name) + "/";
      const std::string command = ".venv/bin/python -W ignore jit/archive/test_files.py " + path;
      if (std::system(command.c_str()) != 0) {
        std::fprintf(stderr, "failed: %s\n", command.c_str());
        abort();
      }
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string path;
  };
  static const Folder folder;
  return folder.path;
}

std::vector<std::string> TestFilesEndingIn(const std::string& end) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(TestFilesFolder())) {
    if (entry.path().extension() == end) files.push_back(entry.path());
  }
  return files;
}

std::string ReadTestFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void WriteTestFile(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace hearth
