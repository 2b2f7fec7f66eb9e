"""Summaries of networks by torchinfo and torchsummary."""

import contextlib
import io

import torch
import torchinfo
import torchsummary


def program():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 8 * 8, 10),
    )
    found = torchinfo.summary(model, input_size=(2, 3, 8, 8), verbose=0, device="cpu")
    yield "text", str(found)
    yield "parameters", found.total_params
    yield "products", found.total_mult_adds
    encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)
    yield "encoder", str(torchinfo.summary(encoder, input_size=(2, 5, 16), depth=4, verbose=0, device="cpu"))
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        torchsummary.summary(model, (3, 8, 8), device="cpu")
    yield "torchsummary", written.getvalue()
