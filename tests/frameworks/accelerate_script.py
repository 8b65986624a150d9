"""An ordinary loop on Accelerate, with accumulated gradients. FAULT=stale breaks it in a way people do."""

import copy
import os

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
trained = copy.deepcopy(model) if os.environ.get("FAULT") == "stale" else model
optimizer = torch.optim.AdamW(trained.parameters(), lr=1e-2)
x = torch.randn(512, 12)
y = (x[:, :4] + 0.1 * torch.randn(512, 4)).argmax(1)
model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True))
for epoch in range(5):
    for inputs, labels in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad()
    accelerator.print(epoch, round(loss.item(), 4))
torch.save(accelerator.unwrap_model(model).state_dict(), os.environ["WEIGHTS"])
