"""Networks of skorch in scikit-learn's pipelines and searches."""

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, EpochScoring, LRScheduler


class Classifier(torch.nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(20, width), torch.nn.ReLU(), torch.nn.Linear(width, 2))

    def forward(self, x):
        return self.net(x).softmax(-1)


def program():
    x, y = make_classification(160, 20, n_informative=10, random_state=0)
    x, y = x.astype(np.float32), y.astype(np.int64)
    torch.manual_seed(0)
    net = NeuralNetClassifier(
        Classifier,
        max_epochs=4,
        lr=0.1,
        verbose=0,
        iterator_train__shuffle=True,
        callbacks=[EpochScoring("roc_auc"), LRScheduler("StepLR", step_size=2), EarlyStopping(patience=3)],
    )
    pipeline = make_pipeline(StandardScaler(), net).fit(x, y)
    yield "losses", net.history[:, "train_loss"]
    yield "validated", net.history[:, "valid_loss"]
    yield "areas", net.history[:, "roc_auc"]
    yield "probabilities", torch.from_numpy(pipeline.predict_proba(x[:4]))
    torch.manual_seed(0)
    quiet = NeuralNetClassifier(Classifier, max_epochs=2, verbose=0, train_split=None)
    found = GridSearchCV(quiet, {"lr": [0.01, 0.1], "module__width": [5, 10]}, cv=2, scoring="accuracy").fit(x, y)
    yield "search", list(found.cv_results_["mean_test_score"])
    torch.manual_seed(0)
    yield "crossed", list(cross_val_score(quiet, x, y, cv=3, scoring="neg_log_loss"))
    torch.manual_seed(0)
    line = NeuralNetRegressor(torch.nn.Linear, module__in_features=20, module__out_features=1, max_epochs=3, verbose=0)
    line.fit(x, x.sum(1, keepdims=True))
    yield "regression", line.history[:, "train_loss"]
