#include "jit/archive/byte_order.h"

namespace hearth {

bool IsBigEndian(const ZipReader& archive) {
  const ZipRecord* record = archive.Find("byteorder");
  if (!record) return false;
  const RecordBytes order = archive.Read(*record);
  if (order.view() == "big") return true;
  if (order.view() == "little") return false;
  throw ArchiveError(archive.file_name() + ": the record byteorder says '" + std::string(order.view().substr(0, 40)) +
                     "', neither little nor big");
}

}  // namespace hearth
