"""An ordinary Ignite training with an evaluator. FAULT=zero breaks it in a way people do."""

import os

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.0 if os.environ.get("FAULT") == "zero" else 1e-2)
loss = nn.CrossEntropyLoss()
x = torch.randn(512, 12)
y = (x[:, :4] + 0.1 * torch.randn(512, 4)).argmax(1)
training = DataLoader(TensorDataset(x[:384], y[:384]), batch_size=32, shuffle=True)
held_out = DataLoader(TensorDataset(x[384:], y[384:]), batch_size=64)
trainer = create_supervised_trainer(model, optimizer, loss)
evaluator = create_supervised_evaluator(model, {"accuracy": Accuracy(), "loss": Loss(loss)})


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    evaluator.run(held_out)
    print(engine.state.epoch, engine.state.output, evaluator.state.metrics)


trainer.run(training, max_epochs=6)
torch.save(model.state_dict(), os.environ["WEIGHTS"])
