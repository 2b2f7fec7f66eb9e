"""Many processes: what serves ``torch.distributed``.

- `mt_distributed.contract`: what a library of collectives gives. One class, `Communicator`, with one method for an
  operation on arrays, none of which blocks; found by an entry point of the group ``mindtorch.collectives``.
- `mt_distributed.mpi`: that of MPI, which serves the backends ``mpi`` and ``gloo``.
- `mt_distributed.process_group`: `ProcessGroup`, operations on tensors over a communicator; `mt_distributed.work`:
  `Work`, what was begun, the thread that moves it on, and how it fails when a rank is missing.
- `mt_distributed.stores`: keys and values that ranks share, and the process behind them, which tells who died
  (`mt_distributed.lifeline`).
- `mt_distributed.groups`, `rendezvous`, `world`, `backends`: making and finding groups. `functions`, `point_to_point`,
  `objects`, `coalescing`: what programs call.
- `mt_distributed.launch`: ``torchrun``.

``docs/distributed.md`` tells how they play together.
"""
