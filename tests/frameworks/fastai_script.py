"""An ordinary fastai training, with fastai's own optimizer. FAULT=zero breaks it in a way people do."""

import os

import torch
from fastai.basics import CrossEntropyLossFlat, DataLoader, DataLoaders, Learner, accuracy, set_seed
from torch import nn
from torch.utils.data import TensorDataset

set_seed(3, reproducible=True)
x = torch.randn(512, 12)
y = (x[:, :4] + 0.1 * torch.randn(512, 4)).argmax(1)
loaders = DataLoaders(DataLoader(TensorDataset(x[:384], y[:384]), bs=32, shuffle=True), DataLoader(TensorDataset(x[384:], y[384:]), bs=64))
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
learn = Learner(loaders, model, loss_func=CrossEntropyLossFlat(), metrics=accuracy)
learn.fit(6, lr=0.0 if os.environ.get("FAULT") == "zero" else 1e-2)
torch.save(model.state_dict(), os.environ["WEIGHTS"])
