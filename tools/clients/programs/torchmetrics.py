"""Thirty metrics, updated in two batches."""

import torch
import torchmetrics
from torchmetrics import classification, regression
from torchmetrics.functional import pairwise_cosine_similarity


def program():
    torch.manual_seed(0)
    logits, labels = torch.randn(2, 20, 5), torch.randint(0, 5, (2, 20))
    several = torchmetrics.MetricCollection(
        {
            "accuracy": classification.MulticlassAccuracy(5),
            "f1": classification.MulticlassF1Score(5),
            "auroc": classification.MulticlassAUROC(5),
            "precision": classification.MulticlassAveragePrecision(5),
            "confusion": classification.MulticlassConfusionMatrix(5),
            "calibration": classification.MulticlassCalibrationError(5),
            "kappa": classification.MulticlassCohenKappa(5),
            "matthews": classification.MulticlassMatthewsCorrCoef(5),
            "jaccard": classification.MulticlassJaccardIndex(5),
            "hinge": classification.MulticlassHingeLoss(5),
            "specificity": classification.MulticlassSpecificity(5),
        }
    )
    for batch in range(2):
        several.update(logits[batch].softmax(-1), labels[batch])
    yield from several.compute().items()
    binary = {
        "binary auroc": classification.BinaryAUROC(),
        "binary roc": classification.BinaryROC(),
        "binary curve": classification.BinaryPrecisionRecallCurve(thresholds=5),
        "binary stat": classification.BinaryStatScores(),
    }
    for name, metric in binary.items():
        metric.update(logits[..., 0].sigmoid().flatten(), (labels > 2).long().flatten())
        yield name, metric.compute()
    measured = {
        "mse": regression.MeanSquaredError(),
        "mae": regression.MeanAbsoluteError(),
        "pearson": regression.PearsonCorrCoef(),
        "spearman": regression.SpearmanCorrCoef(),
        "kendall": regression.KendallRankCorrCoef(),
        "r2": regression.R2Score(),
        "cosine": regression.CosineSimilarity(),
        "variance": regression.ExplainedVariance(),
    }
    for name, metric in measured.items():
        for batch in range(2):
            shape = (20, 5) if name == "cosine" else (100,)
            given, other = (logits[which].reshape(shape) for which in (batch, 1 - batch))
            metric.update(given, other + labels[batch].repeat(5).reshape(shape))
        yield name, metric.compute()
    image, other = torch.rand(2, 3, 24, 24), torch.rand(2, 3, 24, 24)
    yield "psnr", torchmetrics.image.PeakSignalNoiseRatio(data_range=1.0)(image, other)
    yield "ssim", torchmetrics.image.StructuralSimilarityIndexMeasure(data_range=1.0)(image, other)
    yield "variation", torchmetrics.image.TotalVariation()(image)
    yield "perplexity", torchmetrics.text.Perplexity()(logits, labels)
    yield "edits", torchmetrics.text.CharErrorRate()(["a small test"], ["the small text"])
    yield "mean", torchmetrics.MeanMetric()(torch.tensor([1.0, 2.0, 4.0]))
    yield "pairwise", pairwise_cosine_similarity(logits[0], logits[1])
