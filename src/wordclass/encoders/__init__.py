"""From the vectors of a text's tokens to one vector per text: one file per kind. Needs torch.

Each file defines `make(input_dim, **options)`, which returns an `nn.Module` with
`forward(vectors, lengths)`, from (b, l, input_dim) and (b,) to (b, output_dim), and `output_dim`.
Padding stands behind the text. `lengths` says where it starts, and neither what it holds nor how
much there is changes an output; a text may be empty, or shorter than any window. All take `seed`
for their first weights, and `masked`: False reads all l vectors as if they were text and ignores
`lengths`, which is what the paper's runs did on texts padded on the left.
"""

from typing import TYPE_CHECKING, Any

from wordclass import naming

if TYPE_CHECKING:
    from torch import nn

naming.extra("torch", "for networks")


def encoder(name: str, input_dim: int, **options: Any) -> "nn.Module":  # noqa: ANN401
    """Make an encoder by its name, with its own options.

    Examples
    --------
    >>> encoder("cnn", 320, channels=128).output_dim
    384
    """
    made: nn.Module = naming.entry("encoders", name).make(input_dim, **options)
    return made
