"""Differential fuzzing: random programs on PyTorch and on mindtorch side by side; and files that nobody saved.

``./dev fuzz`` runs programs. Everything follows from seeds. `catalogue` makes calls of all
public operators out of their samples, `phrases` holds what programs say besides, `generator` grows a program against
the running PyTorch, `machine` runs one and notes what is to be seen (`sights`), `comparison` tells two such notes
apart, `noise` says which differences mean nothing, `minimise` shortens what was found.

``./dev files`` loads damaged and hostile files (`files`): `pickles` puts pickles together, `damage` makes files of them
and of valid ones, `guard` loads each in a child that is watched.
"""
