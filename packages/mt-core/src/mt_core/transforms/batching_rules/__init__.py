"""Batching rules: what operators do to tensors with a hidden dimension. A room: one module per operator family.

A rule gets every argument of the schema by position, each tensor as `Lanes` and each list of tensors as a list of them;
at least one has a batch dimension. It works one level further out, on ordinary tensors. Whatever tensor it returns has
the batch dimension in front; `Lanes(value, None)` is a result that all lanes share. `None`, numbers and tuples pass.
`NotImplemented` says that a rule is not for these arguments: the operator is taken apart, or called lane by lane.

```python
@batching_rule("cumsum")
def cumsum(batch, self, dim, dtype=None): ...
```

What follows from a declaration needs no rule: elementwise operators, composites (their parts come by again), forms that
write to their first argument and follow from the functional form.
"""
