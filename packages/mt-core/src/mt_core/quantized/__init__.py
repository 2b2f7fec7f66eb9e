"""Quantized tensors: integers that stand for numbers, by one scale and zero point or by one for each channel.

A quantized tensor has no memory of its own: it stands for an ordinary tensor of integers, whose layout and storage are
its own, and carries the key `QUANTIZED`.

``tensors``
    What a quantized tensor has in place of an array, its quantizers, and how it is made.
``layer``
    The layer of the key `QUANTIZED`: which rule carries an operator out.
``rules``
    What operators that exist for ordinary tensors as well do to quantized ones. Those that exist for these alone are
    declared as the family ``quantized`` (`mt_core.declarations.quantized`) and written in `mt_core.decomp`.
"""
