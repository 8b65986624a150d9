"""Character model on two ranks; run with torchrun --nproc-per-node 2."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

TEXT = ("the quick brown fox jumps over the lazy dog while seven wizards quietly box a jumping frog and "
        "five dozen liquor jugs pack my big black quartz box ") * 12


class CharModel(nn.Module):
    def __init__(self, size, width=48):
        super().__init__()
        self.table = nn.Embedding(size, 24)
        self.rnn = nn.GRU(24, width, batch_first=True)
        self.out = nn.Linear(width, size)

    def forward(self, ids):
        hidden, _ = self.rnn(self.table(ids))
        return self.out(hidden)

    def compute_loss(self, batch):
        source, target = batch
        scores = self(source)
        return nn.functional.cross_entropy(scores.flatten(0, 1), target.flatten())


class Trainer:
    def __init__(self):
        self.rank = dist.get_rank()
        letters = sorted(set(TEXT))
        ids = torch.tensor([letters.index(c) for c in TEXT])
        pieces = torch.stack([ids[i:i + 17] for i in range(0, len(ids) - 17, 3)])
        data = TensorDataset(pieces[:, :-1], pieces[:, 1:])
        self.sampler = DistributedSampler(data, seed=3)
        self.batches = DataLoader(data, batch_size=16, sampler=self.sampler, drop_last=True)
        self.model = DDP(CharModel(len(letters)))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=5e-3)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for batch in self.batches:
                source, target = batch
                loss = nn.functional.cross_entropy(self.model(source).flatten(0, 1), target.flatten())
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
            if self.rank == 0:
                print("epoch", epoch, "loss", round(loss.item(), 4))


if __name__ == "__main__":
    dist.init_process_group("gloo")
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    Trainer().fit(6)
    dist.destroy_process_group()
