#include "jit/fuser/llvm/object_linker.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBufferRef.h>

#include <cstring>
#include <limits>

#include "jit/fuser/image/kernel_image.h"

namespace hearth::fuser {
namespace {

using llvm::object::ELF64LEObjectFile;

template <class T>
T Check(llvm::Expected<T> value) {
  if (!value) throw LinkError("object file: " + llvm::toString(value.takeError()));
  return std::move(*value);
}

class Linker {
 public:
  explicit Linker(const ELF64LEObjectFile& object) : object_(object) {}

  LinkedBlock Link() {
    for (const auto& section : object_.sections()) Place(section);
    for (const auto& section : object_.sections()) Relocate(section);
    for (const auto& symbol : object_.symbols()) AddFunction(symbol);
    return std::move(block_);
  }

 private:
  void Place(const llvm::object::ELFSectionRef& section) {
    if ((section.getFlags() & llvm::ELF::SHF_ALLOC) == 0 || section.getSize() == 0) return;
    if ((section.getFlags() & llvm::ELF::SHF_WRITE) != 0) throw LinkError("object file: has memory to be written");
    const uint64_t alignment = std::max<uint64_t>(section.getAlignment().value(), 1);
    if (alignment > kBlockAlignment) throw LinkError("object file: a section has too large an alignment");
    std::string& bytes = block_.bytes;
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    places_[section.getIndex()] = bytes.size();
    bytes += Check(section.getContents());
    if (bytes.size() > kMaxBlockBytes) throw LinkError("object file: too large");
  }

  void Relocate(const llvm::object::ELFSectionRef& section) {
    const auto relocated = Check(section.getRelocatedSection());
    if (relocated == object_.section_end()) return;
    const auto place = places_.find(relocated->getIndex());
    if (place == places_.end()) return;
    for (const llvm::object::ELFRelocationRef relocation : section.relocations()) {
      Apply(relocation, place->second + relocation.getOffset());
    }
  }

  void Apply(const llvm::object::ELFRelocationRef& relocation, uint64_t place) {
    const auto symbol = relocation.getSymbol();
    if (symbol == object_.symbol_end()) throw LinkError("object file: a relocation without a symbol");
    const auto target = static_cast<int64_t>(AddressOf(*symbol)) + Check(relocation.getAddend());
    const int64_t distance = target - static_cast<int64_t>(place);
    const uint64_t type = relocation.getType();
    if (type == llvm::ELF::R_X86_64_PC32 || type == llvm::ELF::R_X86_64_PLT32) {
      // A block is smaller than 2 GiB.
      Write(place, static_cast<int32_t>(distance));
    } else if (type == llvm::ELF::R_X86_64_PC64) {
      Write(place, distance);
    } else {
      llvm::SmallString<32> name;
      relocation.getTypeName(name);
      throw LinkError("object file: has a relocation " + std::string(name.str()));
    }
  }

  template <class T>
  void Write(uint64_t place, T value) {
    if (place + sizeof(T) > block_.bytes.size()) throw LinkError("object file: a relocation is outside of its section");
    std::memcpy(block_.bytes.data() + place, &value, sizeof(T));
  }

  uint64_t AddressOf(const llvm::object::SymbolRef& symbol) {
    const auto section = Check(symbol.getSection());
    const auto place = section == object_.section_end() ? places_.end() : places_.find(section->getIndex());
    if (place == places_.end()) throw LinkError("object file: refers to " + Check(symbol.getName()).str());
    return place->second + Check(symbol.getValue());
  }

  void AddFunction(const llvm::object::ELFSymbolRef& symbol) {
    if (symbol.getELFType() != llvm::ELF::STT_FUNC || symbol.getBinding() != llvm::ELF::STB_GLOBAL) return;
    block_.functions.emplace(Check(symbol.getName()).str(), static_cast<uint32_t>(AddressOf(symbol)));
  }

  const ELF64LEObjectFile& object_;
  std::map<uint64_t, uint64_t> places_;  // of sections, by their numbers
  LinkedBlock block_;
};

}  // namespace

LinkedBlock LinkObject(std::string_view object) {
  const auto file =
      Check(ELF64LEObjectFile::create(llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "kernel")));
  return Linker(file).Link();
}

}  // namespace hearth::fuser
