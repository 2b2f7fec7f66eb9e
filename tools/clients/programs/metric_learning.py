"""Losses and miners of pytorch-metric-learning, trained."""

import torch
from pytorch_metric_learning import distances, losses, miners, reducers


def program():
    torch.manual_seed(0)
    given, labels = torch.randn(16, 8), torch.arange(16) % 4
    chosen = {
        "triplet": losses.TripletMarginLoss(distance=distances.CosineSimilarity(), reducer=reducers.MeanReducer()),
        "contrastive": losses.ContrastiveLoss(),
        "ntxent": losses.NTXentLoss(),
        "supcon": losses.SupConLoss(),
        "multi": losses.MultiSimilarityLoss(),
        "circle": losses.CircleLoss(),
        "arcface": losses.ArcFaceLoss(4, 4),
        "proxy": losses.ProxyAnchorLoss(4, 4),
        "lifted": losses.GeneralizedLiftedStructureLoss(),
        "npairs": losses.NPairsLoss(),
    }
    miner = miners.MultiSimilarityMiner()
    for name, criterion in chosen.items():
        model = torch.nn.Linear(8, 4)
        optimizer = torch.optim.Adam([*model.parameters(), *criterion.parameters()], lr=0.05)
        for step in range(3):
            optimizer.zero_grad()
            embedded = model(given)
            pairs = miner(embedded, labels) if name in ("triplet", "contrastive", "multi") else None
            loss = criterion(embedded, labels, pairs)
            loss.backward()
            optimizer.step()
            yield f"{name} {step}", loss
