"""Record the dtypes of elementwise operators in PyTorch: python make_elementwise.py, with PyTorch installed."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from elementwise_cases import answers
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

made = answers(torch, ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes)
Path(__file__).with_name("elementwise.json").write_text(json.dumps(made, indent=0) + "\n")
