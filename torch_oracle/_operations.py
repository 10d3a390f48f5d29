"""How each ATen operation rounds: the table that the oracle's arithmetic is read from.

An operation that stands in none of these groups is decomposed by PyTorch's own table where that has an entry, and
refused by name otherwise. It is never given one silent rounding.
"""

# ruff: noqa: SIM905  (a table of names reads better without quotes)
from __future__ import annotations

from typing import Any

EXACT = frozenset(
    # views and copies
    "_reshape_alias _reshape_copy _to_copy _unsafe_view alias as_strided clone contiguous detach diagonal expand flip "
    "lift_fresh movedim narrow permute repeat reshape roll select slice split split_with_sizes squeeze stack t "
    "transpose unbind unfold unsqueeze unsafe_split view view_as "
    # creation
    "arange empty empty_like eye full full_like new_empty new_full new_ones new_zeros ones ones_like scalar_tensor "
    "zeros zeros_like "
    # choices among values
    "amax amin cat clamp clamp_max clamp_min constant_pad_nd copy diag_embed diagonal_backward embedding fill fmax "
    "fmin gather hardtanh index index_select masked_fill maximum minimum relu scatter select_backward "
    "slice_backward slice_scatter select_scatter tril triu where zero threshold "
    # signs and logic
    "abs neg positive _conj conj real all any bitwise_and bitwise_not bitwise_or bitwise_xor isfinite isinf isnan "
    "logical_and logical_not logical_or logical_xor".split()
)
"""Results that are copies of operands, up to their sign."""

WRITES = frozenset(("masked_fill",))
"""Copies that PyTorch's fused losses make in place, to tensors of their own (cross_entropy with label smoothing)."""

ROUNDED = frozenset("add sub rsub mul div reciprocal sqrt square".split())
"""Correctly rounded: one rounding."""

FUNCTIONS = frozenset(
    "acos acosh asin asinh atan atanh cos cosh erf erfc exp expm1 log log10 log1p log2 rsqrt sigmoid sin sinh "
    "softplus tan tanh".split()
)
"""Elementary functions, whose accuracy the arithmetic states by name."""

PRODUCTS = frozenset("mm bmm mv dot vdot".split())
SUMS = frozenset("sum mean".split())
ACCUMULATIONS = frozenset("cumsum index_add scatter_add index_put embedding_dense_backward".split())
"""Sums whose terms may be added one after the other."""

COMPARISONS = frozenset("lt le gt ge eq ne".split())
STEPS = frozenset("floor ceil round trunc".split())
SIGNS = frozenset("sign sgn".split())
CHOICES = frozenset("argmax argmin max min".split())
"""Operations that find the position of an extreme value."""
ORDERS = frozenset("sort topk kthvalue median".split())
"""Operations that find the positions of values by their rank."""

REFUSED: dict[str, str] = {
    **dict.fromkeys(
        (
            "bernoulli cauchy exponential geometric log_normal multinomial native_dropout normal poisson rand "
            "rand_like randint randint_like randn randn_like random randperm rrelu_with_noise uniform"
        ).split(),
        "it is random, and the oracle must say the same twice",
    ),
    **dict.fromkeys(
        "_local_scalar_dense item nonzero masked_select equal is_nonzero".split(),
        "it takes a value out of the tensors, so that what follows escapes the rounding model; stay with tensors, for "
        "example torch.where, and with batch dimensions (one_hot takes out its largest class: compare "
        "labels.unsqueeze(-1) with torch.arange)",
    ),
    **dict.fromkeys(
        (
            "convolution convolution_overrideable _convolution convolution_backward mkldnn_convolution "
            "_slow_conv2d_forward thnn_conv2d"
        ).split(),
        "convolution has no rounding rule yet; write it as matrix products of unfolded inputs",
    ),
    **dict.fromkeys(
        (
            "linalg_solve_ex _linalg_solve_ex linalg_inv_ex linalg_lu_factor_ex linalg_lu_solve linalg_cholesky_ex "
            "cholesky_solve triangular_solve linalg_solve_triangular linalg_qr linalg_eig linalg_eigh _linalg_eigh "
            "_linalg_svd linalg_lstsq _linalg_det _linalg_slogdet linalg_pinv"
        ).split(),
        "linear solvers and factorisations have no rounding rule yet",
    ),
    **dict.fromkeys(
        (
            "_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu "
            "_scaled_dot_product_flash_attention_for_cpu_backward _scaled_dot_product_efficient_attention "
            "_scaled_dot_product_attention_math scaled_dot_product_attention _fused_sdp_choice"
        ).split(),
        "attention as one operation has no rounding rule; write it as matrix products and a softmax",
    ),
    **dict.fromkeys(
        "nanmedian mode unique_consecutive _unique2 searchsorted bucketize histc".split(),
        "its ties have no rule yet; write it with torch.sort, or with comparisons and sums of them",
    ),
}
"""Refused by name, with the reason and the way out."""

NAMESPACES = ("aten", "prims")

_PRIMS = {
    "broadcast_in_dim": "expand",
    "convert_element_type": "_to_copy",
    "expm1": "expm1",
    "view_of": "alias",
    "view_of_dtype": "view",
}
"""PyTorch's primitive operations that have another name in ATen."""


def operation_name(operation: Any) -> str:
    """The name of an overload without namespace, overload and the underscore of in-place variants."""
    name: str = operation.overloadpacket.__name__
    if operation.namespace == "prims":
        name = _PRIMS.get(name, name)
    if name.endswith("_") and not name.startswith("__"):
        name = name[:-1]
    return name


def in_place(operation: Any) -> bool:
    """Whether the operation writes to an operand."""
    return operation._schema.is_mutable  # noqa: SLF001
