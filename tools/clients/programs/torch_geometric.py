"""Graph networks of torch-geometric, trained on a random graph."""

import torch
import torch_geometric
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, TransformerConv, global_mean_pool


def program():
    torch_geometric.seed_everything(0)
    edges = torch.randint(0, 20, (2, 60))
    graph = Data(x=torch.randn(20, 8), edge_index=edges, y=torch.randint(0, 3, (20,)))
    layers = {
        "gcn": lambda: GCNConv(8, 3),
        "sage": lambda: SAGEConv(8, 3),
        "gat": lambda: GATConv(8, 3, heads=2, concat=False),
        "gin": lambda: GINConv(torch.nn.Linear(8, 3)),
        "transformer": lambda: TransformerConv(8, 3),
    }
    for name, made in layers.items():
        torch.manual_seed(0)
        model = made()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for step in range(3):
            loss = torch.nn.functional.cross_entropy(model(graph.x, graph.edge_index), graph.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield f"{name} {step}", loss
    for batch in DataLoader([graph, graph], batch_size=2):
        yield "pooled", global_mean_pool(batch.x, batch.batch)
        yield "edges", batch.edge_index
    yield "undirected", torch_geometric.utils.to_undirected(edges)
    yield "laplacian", torch_geometric.utils.get_laplacian(edges, normalization="sym", num_nodes=20)[1]
