// The operators that torch.nn's attention and encoder layers call where no gradients are recorded, each a whole layer,
// become the operators that these are made of, which can be planned and fused with what is around them:
//
//     _native_multi_head_attention(x, x, x, ...)    a linear layer, of which queries, keys and values are views,
//                                                   scaled_dot_product_attention, a linear layer
//     _transformer_encoder_layer_fwd(x, ...)        that, additions, layer norms, two linear layers, an activation
//
// Of x of three dimensions, without a mask, and where nobody asks for the attention's weights. Results differ from
// those of the whole layers as roundings do. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool DecomposeSelfAttention(Compilation& compilation);

}  // namespace hearth
