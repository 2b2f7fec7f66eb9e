"""Tensors of sparse layouts: coordinates (COO), compressed rows (CSR) and compressed columns (CSC).

A sparse tensor has no memory. It stands for ordinary tensors, its indices and its values, and carries the key `SPARSE`;
everything that is done to it is written in operators on these, so that any backend serves.

``tensors``
    What a sparse tensor has in place of an array, and how it is made and taken apart.
``layer``
    The layer of the key `SPARSE`: which rule carries an operator out.
``rules``
    What operators that exist for ordinary tensors as well do to sparse ones, by operator family. Those that exist for
    sparse tensors alone are declared as the family ``sparse`` (`mt_core.declarations.sparse`) and written in
    `mt_core.decomp`.
``construct``
    ``torch.sparse_coo_tensor`` and its kin: from lists, numbers and tensors.
"""
