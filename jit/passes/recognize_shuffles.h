// Shuffles of channels, as ShuffleNet writes them, become hearth::channel_shuffle, one copy:
//
//     x = cat([a, b], 1)                          p = hearth::channel_shuffle([a, b], 2, 0, c / 2)
//     y = x.view(n, 2, c / 2, h, w)               q = hearth::channel_shuffle([a, b], 2, c / 2, c / 2)
//     z = y.transpose(1, 2).contiguous()
//     p, q = z.view(n, c, h, w).chunk(2, 1)
//
// It reads the parts of a concatenation that nobody else needs, and makes each chunk of the result in memory of its own
// where whoever uses it asks for no strides: convolutions and concatenations. It goes on in whatever format these have
// (choose_layouts.h), which the views in between would keep channels-last images from.
//
// Float32 images on the CPU that facts know to have elements, and of which nobody writes anything. Returns whether the
// graph changed.
#pragma once

namespace hearth {

class Compilation;

bool RecognizeShuffles(Compilation& compilation);

}  // namespace hearth
