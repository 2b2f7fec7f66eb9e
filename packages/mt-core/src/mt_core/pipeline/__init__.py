"""Deferred execution: calls are described at once, and carried out together (``torch.pipeline()``).

`waiting` is what stands in a tensor while its value waits, `shadows` describes calls, `queue` keeps them and carries
them out, `plan` leaves out what nobody asks for and joins what a backend fuses, `layer` is the dispatch layer, and
`context` what a program sees.
"""
