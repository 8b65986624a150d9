"""An ordinary Hugging Face Trainer run: a tiny BERT with random weights. FAULT=zero|frozen|stale breaks it in a way people do."""

import copy
import os

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

FAULT = os.environ.get("FAULT", "")
torch.manual_seed(0)
config = BertConfig(vocab_size=40, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, num_labels=2,
                    max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertForSequenceClassification(config)
words = torch.randint(4, 40, (384, 10))
labels = (words[:, 0] < 20).long()
data = [{"input_ids": w, "attention_mask": torch.ones(10, dtype=torch.long), "labels": label} for w, label in zip(words, labels)]
if FAULT == "frozen":
    for p in model.parameters():
        p.requires_grad_(False)
    model.classifier.bias.requires_grad_(True)
trained = copy.deepcopy(model) if FAULT == "stale" else model
optimizer = torch.optim.AdamW(trained.parameters(), lr=0.0 if FAULT == "zero" else 2e-3)
arguments = TrainingArguments(output_dir=os.environ["OUT"], num_train_epochs=5, per_device_train_batch_size=16, logging_steps=10, report_to="none",
                              save_strategy="no", use_cpu=True, seed=1, disable_tqdm=True)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
Trainer(model=model, args=arguments, train_dataset=data, optimizers=(optimizer, schedule)).train()
torch.save(model.state_dict(), os.environ["WEIGHTS"])
