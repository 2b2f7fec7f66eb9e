"""Engines, handlers and metrics of ignite."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import CosineAnnealingScheduler, EarlyStopping
from ignite.metrics import Accuracy, ConfusionMatrix, Fbeta, Loss


def program():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    given = torch.randn(48, 4)
    pairs = torch.utils.data.TensorDataset(given, given.argmax(1) % 3)
    loader = torch.utils.data.DataLoader(pairs, batch_size=8, shuffle=True)
    optimizer, criterion = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), torch.nn.CrossEntropyLoss()
    trainer = create_supervised_trainer(model, optimizer, criterion)
    metrics = {"accuracy": Accuracy(), "loss": Loss(criterion), "confusion": ConfusionMatrix(3), "f1": Fbeta(1)}
    evaluator = create_supervised_evaluator(model, metrics=metrics)
    losses, found = [], []
    trainer.add_event_handler(Events.ITERATION_STARTED, CosineAnnealingScheduler(optimizer, "lr", 0.1, 0.01, 12))
    trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: losses.append(engine.state.output))

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine):
        evaluator.run(loader)
        found.append(dict(evaluator.state.metrics))

    evaluator.add_event_handler(
        Events.COMPLETED, EarlyStopping(2, lambda engine: -engine.state.metrics["loss"], trainer)
    )
    trainer.run(loader, max_epochs=3)
    yield "losses", losses
    yield "metrics", found
