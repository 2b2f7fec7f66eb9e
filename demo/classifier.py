"""The pretrained encoder with a classification head."""

from __future__ import annotations

import torch
from encoder import mean_pool
from torch import nn
from transformers import BertConfig, BertModel, BertPreTrainedModel


class AreaClassifier(BertPreTrainedModel):
    """BERT, the mean over the tokens, dropout and one linear layer: logits of shape (texts, areas)."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Logits for a batch of token ids and its attention mask, both of shape (texts, tokens)."""
        hidden = self.bert(input_ids, attention_mask=attention_mask).last_hidden_state
        return self.classifier(self.dropout(mean_pool(hidden, attention_mask)))
