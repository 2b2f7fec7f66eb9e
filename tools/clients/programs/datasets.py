"""A table of datasets that hands out tensors, through a DataLoader."""

import datasets
import torch


def program():
    table = datasets.Dataset.from_dict(
        {"x": [[float(i), i / 2] for i in range(10)], "y": list(range(10)), "text": [str(i) for i in range(10)]}
    )
    table = table.with_format("torch")
    yield "row", table[3]["x"]
    yield "column", table["y"][:]
    yield "dtypes", [str(table[0]["x"].dtype), str(table[0]["y"].dtype), type(table[0]["text"]).__name__]
    doubled = table.map(lambda row: {"x": row["x"] * 2}).filter(lambda row: row["y"] % 2 == 0)
    yield "mapped", doubled[:]["x"]
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(table, batch_size=4, shuffle=True)
    for number, batch in enumerate(loader):
        yield f"batch {number}", batch["x"]
        yield f"labels {number}", batch["y"]
    streamed = table.to_iterable_dataset(num_shards=2).shuffle(seed=3, buffer_size=4)
    yield "streamed", [int(row["y"]) for row in streamed]
    workers = torch.utils.data.DataLoader(streamed, batch_size=5, num_workers=2)
    yield "by workers", sorted(int(y) for batch in workers for y in batch["y"])
