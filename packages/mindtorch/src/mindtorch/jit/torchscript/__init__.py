"""TorchScript: archives that PyTorch writes, the language of their code, and modules that run it.

Rooms: `reading` and `unpickling` turn a file into values; `sources` its code into statements; `types` are the
language's; `compiling`, `expressions` and `calls` make Python functions of statements, from a table of operators
(`operators` for tensors, `on_numbers`, `on_text`, `on_containers`, `on_tensors` for the rest); `modules` and `values`
are what users hold; `writing` and `pickling` make files. Nothing is imported before an archive is read or written.
`docs/torchscript.md` is about it.
"""
