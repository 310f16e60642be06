// The CRC-32 of zip (polynomial 0x04C11DB7, reflected). Same answers as zlib's crc32 at several times its speed where
// the processor multiplies without carries, so that checking every weight of an archive costs less than reading it.
//
// The algorithm folds 64 bytes at a time as in V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using
// PCLMULQDQ Instruction", Intel 2009. Pure function, thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

namespace hearth {

// The checksum of some bytes followed by `bytes`, where `crc` is that of the former (0 for none).
uint32_t Crc32(std::string_view bytes, uint32_t crc = 0);

}  // namespace hearth
