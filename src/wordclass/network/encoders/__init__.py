"""Network encoders: from the vectors of a text's tokens to one vector. One file per kind.

Each file defines `make(input_dim, **options)`. It returns an `nn.Module` with the attribute
`output_dim` and the method `forward(vectors, lengths)`, from (b, l, input_dim) and (b,) to
(b, output_dim). Padding follows the text: `lengths` says where it starts. Neither the values at the
padding nor their number change the output. A text may be empty or shorter than any window.

All encoders accept `seed`, the source of their first weights, and `masked`. With `masked=False`, an
encoder reads all l vectors as text and ignores `lengths`. The paper's runs did this with texts
that were padded on the left. Needs torch.
"""
