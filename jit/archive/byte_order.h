// Which end of a number comes first in an archive's storages: its record "byteorder", little where there is none.
#pragma once

#include "jit/archive/zip_reader.h"

namespace hearth {

bool IsBigEndian(const ZipReader& archive);

}  // namespace hearth
