"""From the vectors of a text's tokens to one vector per text: one file per kind. Needs torch.

Each file defines `make(input_dim, **options)`, which returns an `nn.Module` with
`forward(vectors, lengths)`, from (b, l, input_dim) and (b,) to (b, output_dim), and `output_dim`.
Padding stands behind the text. `lengths` says where it starts, and neither what it holds nor how
much there is changes an output; a text may be empty, or shorter than any window. All take `seed`
for their first weights, and `masked`: False reads all l vectors as if they were text and ignores
`lengths`, which is what the paper's runs did on texts padded on the left.
"""
