import os

import numpy as np
import torch
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
x, kind = load_wine(return_X_y=True)
x = torch.from_numpy(StandardScaler().fit_transform(x).astype(np.float32))
kind = torch.from_numpy(kind)

encoder = nn.Sequential(nn.Linear(13, 32), nn.GELU(), nn.Linear(32, 8))
decoder = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 13))
classifier = nn.Linear(8, 3)
params = [*encoder.parameters(), *decoder.parameters(), *classifier.parameters()]
opt = torch.optim.AdamW(params, lr=4e-3, weight_decay=0.0)
history = []

for epoch in range(60):
    for batch in torch.randperm(150).chunk(5):
        opt.zero_grad(set_to_none=True)
        code = encoder(x[batch])
        log_p = torch.log_softmax(classifier(code), dim=-1)
        rebuild = torch.mean((decoder(code) - x[batch]) ** 2)
        label = -torch.mean(log_p[torch.arange(len(batch)), kind[batch]])
        total = rebuild + 0.5 * label
        total.backward()
        opt.step()
        history.append(total.item())

with torch.no_grad():
    hits = (classifier(encoder(x)).argmax(1) == kind).float().mean().item()
print(f"first {history[0]:.4f} last {np.mean(history[-10:]):.4f} share of right kinds {hits:.3f}")
