"""An ordinary Lightning training. FAULT=stale|zero|frozen breaks it in a way people do."""

import copy
import os
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
FAULT = os.environ.get("FAULT", "")


class Digits(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
        self.loss = nn.CrossEntropyLoss()

    def training_step(self, batch, _):
        x, y = batch
        loss = self.loss(self.net(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("accuracy", (self.net(x).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        trained = copy.deepcopy(self.net) if FAULT == "stale" else self.net
        if FAULT == "frozen":
            for p in self.net[0].parameters():
                p.requires_grad_(False)
            nn.init.zeros_(self.net[0].weight)
        return torch.optim.Adam(trained.parameters(), lr=0.0 if FAULT == "zero" else 1e-2)


pl.seed_everything(3)
x = torch.randn(512, 12)
y = (x[:, :4] + 0.1 * torch.randn(512, 4)).argmax(1)
model = Digits()
trainer = pl.Trainer(max_epochs=4, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                     enable_model_summary=False)
trainer.fit(model, DataLoader(TensorDataset(x[:384], y[:384]), batch_size=32, shuffle=True),
            DataLoader(TensorDataset(x[384:], y[384:]), batch_size=64))
torch.save(model.state_dict(), os.environ["WEIGHTS"])
