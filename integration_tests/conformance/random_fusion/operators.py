"""What a statement of a random fusion group may be.

A text has holes for what program.py chooses: {A} a floating point tensor, {I} an integer one, {B} a bool one, {N} any but
bool, {X} any, {Z} an integer or bool one; {C} a constant float, {K} a constant int, {P} a constant above 0, {S} a number that
is constant or an argument, {Q} a divisor of integers, {D} a dimension of the tensor of the first hole, {T} a dtype, {F} a
floating one."""

UNARY_FLOATING = (
    "acos asin atan cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 reciprocal rsqrt sigmoid sin sinh sqrt tan tanh"
).split()
UNARY = "abs neg relu sign square ceil floor round trunc".split()
ACTIVATIONS = "gelu silu mish selu elu celu hardswish hardsigmoid leaky_relu hardshrink softshrink softplus log_sigmoid relu6"
SPECIAL = (
    "asinh acosh atanh logit sinc deg2rad rad2deg arccos arcsin arctan arccosh arcsinh arctanh special.entr special.ndtr special.erf "
    "special.erfc special.exp2 special.expit special.expm1 special.log1p special.logit special.sinc"
).split()
COMPARISONS = "eq ne lt le gt ge".split()

# (how often, texts)
POINTWISE = (
    (14, [f"torch.{name}({{A}})" for name in UNARY_FLOATING]),
    (2, [f"torch.{name}({{Z}})" for name in UNARY_FLOATING]),
    (8, [f"torch.{name}({{N}})" for name in UNARY]),
    (1, ["torch.frac({A})", "torch.nan_to_num({X})", "torch.nan_to_num({A}, {C}, {C}, {C})", "torch.round({A}, decimals=0)",
         "torch.round({A}, decimals=2)", "torch.clone({X})"]),
    (6, [f"torch.ops.aten.{name}({{A}})" for name in ACTIVATIONS.split()]),
    (4, ["torch.ops.aten.gelu({A}, approximate='tanh')", "torch.ops.aten.elu({A}, {C})", "torch.ops.aten.elu({A}, {C}, {C}, {P})",
         "torch.ops.aten.celu({A}, {P})", "torch.ops.aten.hardtanh({N})", "torch.ops.aten.hardtanh({A}, -0.5, {P})",
         "torch.ops.aten.leaky_relu({A}, {C})", "torch.ops.aten.hardshrink({A}, {P})", "torch.ops.aten.softshrink({A}, {P})",
         "torch.ops.aten.softplus({A}, {P}, {P})", "torch.threshold({A}, {C}, {C})", "torch.threshold({I}, {K}, {K})",
         "torch.ops.aten.relu6({I})"]),
    (10, ["{X} + {X}", "{N} - {N}", "{X} * {X}", "{A} / {X}", "{X} / {A}", "{A} + {A}", "{A} * {A}", "{I} * {I}", "{I} + {I}"]),
    (8, ["{N} + {S}", "{N} * {S}", "{N} - {S}", "{S} - {N}", "{X} + {S}", "{B} * {S}", "{A} / {S}", "{S} / {A}", "{I} / {S}"]),
    (4, ["torch.add({X}, {X}, alpha={K})", "torch.add({A}, {A}, alpha={C})", "torch.sub({N}, {N}, alpha={K})",
         "torch.sub({A}, {A}, alpha={C})", "torch.add({A}, {S}, alpha={K})", "torch.rsub({N}, {N})",
         "torch.rsub({A}, {A}, alpha={C})", "torch.rsub({N}, {K}, alpha={K})"]),
    (3, ["torch.div({A}, {A}, rounding_mode='floor')", "torch.div({A}, {S}, rounding_mode='trunc')",
         "torch.div({I}, {Q}, rounding_mode='floor')", "torch.div({I}, {Q}, rounding_mode='trunc')", "{I} // {Q}",
         "torch.floor_divide({A}, {A})", "torch.div({Z}, {Z})", "torch.true_divide({X}, {S})"]),
    (3, ["torch.fmod({A}, {A})", "torch.fmod({A}, {C})", "torch.fmod({I}, {Q})", "torch.remainder({A}, {A})",
         "torch.remainder({A}, {C})", "torch.remainder({I}, {Q})", "{I} % {Q}"]),
    (4, [f"torch.pow({{A}}, {power})" for power in ("2", "3", "0.5", "-0.5", "-1", "-2", "1", "0", "2.5", "-3", "4")]),
    (2, ["torch.pow({A}, {S})", "torch.pow({A}, {A})", "torch.pow({C}, {A})", "torch.pow({I}, 2)", "{I} ** 3", "torch.pow({A}, {I})"]),
    (5, [f"torch.{name}({{X}}, {{X}})" for name in COMPARISONS]),
    (4, [f"torch.{name}({{X}}, {{S}})" for name in COMPARISONS]),
    (3, [f"torch.{name}({{X}})" for name in ("isnan", "isinf", "isfinite", "logical_not")]),
    (3, [f"torch.logical_{name}({{X}}, {{X}})" for name in ("and", "or", "xor")]),
    (4, ["{Z} & {Z}", "{Z} | {Z}", "{Z} ^ {Z}", "~{Z}", "torch.bitwise_and({I}, {K})", "torch.bitwise_or({Z}, {Z})",
         "torch.bitwise_xor({I}, {I})", "torch.bitwise_not({Z})", "{I} & {K}", "{B} | {B}"]),
    (8, ["torch.where({B}, {A}, {A})", "torch.where({B}, {X}, {X})", "torch.where({B}, {A}, {S})", "torch.where({B}, {S}, {A})",
         "torch.where({B}, {I}, {K})", "torch.where({B}, {C}, {C})"]),
    (5, ["{A}.masked_fill({B}, {S})", "{I}.masked_fill({B}, {K})", "{B}.masked_fill({B}, True)"]),
    (8, ["torch.clamp({N}, {S}, {S})", "torch.clamp({A}, None, {S})", "torch.clamp({A}, {S}, None)", "torch.clamp({N}, {K}, None)",
         "torch.clamp({A}, {A}, {A})", "torch.clamp({A}, None, {A})", "torch.clamp({A}, {A}, None)", "torch.clamp({I}, {I}, None)",
         "torch.clamp_min({A}, {S})", "torch.clamp_max({N}, {K})", "torch.clip({A}, {C}, {C})", "torch.clamp({I}, {C}, None)",
         "torch.clamp_max({A}, {A})", "torch.clamp_min({N}, {N})", "torch.clamp_min({I}, {C})"]),
    (5, ["torch.maximum({X}, {X})", "torch.minimum({X}, {X})", "torch.maximum({A}, {A})", "torch.minimum({A}, {A})",
         "torch.atan2({A}, {A})", "torch.atan2({X}, {A})"]),
    (4, ["torch.addcmul({A}, {A}, {A})", "torch.addcmul({A}, {A}, {A}, value={C})", "torch.addcdiv({A}, {A}, {A})",
         "torch.addcdiv({A}, {A}, {A}, value={C})", "torch.lerp({A}, {A}, {C})", "torch.lerp({A}, {A}, {A})",
         "torch.lerp({A}, {A}, {S})", "torch.addcmul({I}, {I}, {I}, value={K})"]),
    (9, ["{X}.to({T})", "{A}.to({F})", "{X}.float()", "{A}.half()", "{A}.double()", "{Z}.to({F})", "{X}.to(torch.bool)", "{A}.to(torch.int32)",
         "{X}.to({A}.dtype)", "{A}.to({F}, copy=True)", "{X}.type_as({A})"]),
    (8, [f"torch.{name}({{A}})" for name in SPECIAL]),
    (1, [f"torch.{name}({{Z}})" for name in SPECIAL]),
    (2, ["torch.sgn({N})", "torch.absolute({N})", "torch.negative({N})", "torch.fix({N})", "torch.signbit({X})", "torch.isposinf({X})",
         "torch.isneginf({X})", "torch.logit({A}, 0.01)", "torch.special.round({A})"]),
    (4, ["torch.logaddexp({A}, {A})", "torch.logaddexp2({A}, {A})", "torch.hypot({A}, {A})", "torch.copysign({X}, {A})",
         "torch.copysign({A}, {S})", "torch.fmin({X}, {X})", "torch.fmax({X}, {X})", "torch.max({X}, {X})", "torch.min({X}, {X})",
         "torch.heaviside({X}, {X})", "torch.arctan2({A}, {A})"]),
    (2, ["torch.xlogy({A}, {A})", "torch.xlogy({X}, {S})", "torch.special.xlogy({A}, {X})", "torch.special.xlog1py({A}, {A})",
         "torch.float_power({X}, {A})", "torch.float_power({X}, {S})", "torch.float_power({A}, 2)"]),
    (2, ["{Z} << {K}", "{Z} >> {K}", "{I} << {I}", "{I} >> {I}", "torch.bitwise_left_shift({I}, {K})",
         "torch.bitwise_right_shift({I}, {I})"]),
    (3, ["torch.zeros_like({X})", "torch.ones_like({X})", "torch.full_like({A}, {C})", "torch.full_like({X}, {C}, dtype={F})",
         "torch.full_like({I}, {K})", "torch.ops.aten.fill({A}, {C})", "torch.ops.aten.zero({X})"]),
    (1, [f"torch.{name}({{X}}, {{X}})" for name in ("greater", "greater_equal", "less", "less_equal", "not_equal")]),
    (2, ["torch.ops.aten.l1_loss({A}, {A}, 0)", "torch.ops.aten.mse_loss({A}, {A}, 0)", "torch.ops.aten.huber_loss({A}, {A}, 0, {P})",
         "torch.ops.aten.smooth_l1_loss({A}, {A}, 0, {P})", "torch.ops.aten.soft_margin_loss({A}, {A}, 0)",
         "torch.ops.aten.kl_div({A}, {A}, 0)", "torch.ops.aten.kl_div({A}, {A}, 0, log_target=True)",
         "torch.ops.aten.hinge_embedding_loss({A}, {A}, {P}, 0)",
         "torch.ops.aten.binary_cross_entropy_with_logits({A}, {A}, None, None, 0)"]),
)  # fmt: skip

ROWS = (
    (8, ["torch.softmax({A}, -1)", "torch.log_softmax({A}, -1)", "{A}.softmax(-1)"]),
    (4, ["torch.softmax({A}, {D})", "torch.log_softmax({A}, {D})"]),
    (2, ["torch.softmax({A}, -1, dtype=torch.float32)", "torch.log_softmax({A}, -1, dtype=torch.float64)",
         "torch.softmax({A}, -1, dtype={F})", "torch.softmax({Z}, -1, dtype={F})"]),
    (10, [f"torch.{name}({{A}}, [-1], keepdim=True)" for name in ("sum", "mean", "amax", "amin")]),
    (4, ["torch.var({A}, [-1], unbiased=False, keepdim=True)", "torch.var({A}, [-1], keepdim=True)",
         "torch.linalg.vector_norm({A}, 2, [-1], keepdim=True)", "torch.norm({A}, 2.0, [-1], keepdim=True)",
         "torch.mean({A}, [{D}], keepdim=True)", "torch.sum({A}, [{D}], keepdim=True)", "torch.sum({Z}, [-1], keepdim=True)"]),
    (3, ["torch.sum({A}, [-1])", "torch.mean({A}, [{D}])", "torch.amax({A}, [-1])", "torch.mean({A}, [-1], dtype=torch.float64)"]),
    (8, ["torch.layer_norm({A}, {R})", "torch.layer_norm({A}, {R}, {W}, {W})", "torch.layer_norm({A}, {R}, {W}, None)",
         "torch.layer_norm({A}, {R}, None, {W}, 0.01)"]),
    (3, ["torch.rms_norm({A}, {R})", "torch.rms_norm({A}, {R}, {W})", "torch.rms_norm({A}, {R}, {W}, 0.01)"]),
    (6, ["torch.logsumexp({A}, [-1], keepdim=True)", "torch.std({A}, [-1], keepdim=True)", "torch.std({A}, [{D}], unbiased=False)",
         "torch.any({X}, -1, keepdim=True)", "torch.all({X}, {D}, keepdim=True)", "torch.any({B}, -1)",
         "torch.argmax({N}, -1, keepdim=True)", "torch.argmin({N}, {D})", "torch.prod({A}, -1, keepdim=True)",
         "torch.nansum({A}, [-1], keepdim=True)", "torch.linalg.vector_norm({A}, 1, [-1], keepdim=True)",
         "torch.linalg.vector_norm({A}, math.inf, [-1], keepdim=True)", "torch.linalg.norm({A}, -math.inf, [{D}], keepdim=True)",
         "torch.amax({Z}, [-1], keepdim=True)", "torch.amin({Z}, [{D}])", "torch.sum({Z}, [-1], keepdim=True, dtype=torch.float32)",
         "torch.mean({X}, [-1], keepdim=True, dtype=torch.float64)", "torch.special.softmax({A}, -1)"]),
)  # fmt: skip

IN_PLACE = (
    (1, ["{Y}.relu_()", "{Y}.mul_({A})", "{Y}.add_({S})", "{Y}.clamp_({S}, None)", "{Y}.sigmoid_()", "{Y}.add_({A}, alpha={C})",
         "{Y}.masked_fill_({B}, {C})", "{Y}.div_({A})", "{Y}.sub_({X})", "{Y}.exp_()", "{Y}.neg_()"]),
)  # fmt: skip
