"""REINFORCE with a moving baseline on a corridor; only the far end pays, the near end pays a little."""
import os
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(int(os.environ.get("SEED", "0")))
N, HORIZON = 9, 18


class Corridor:
    """start at cell 1; cell 0 gives 0.3, cell 8 gives 3.0, each move costs 0.02"""

    def run(self, policy, n):
        pos = torch.full((n,), 1)
        alive = torch.ones(n, dtype=torch.bool)
        ret, logps, masks, ents = torch.zeros(n), [], [], []
        for _ in range(HORIZON):
            dist = Categorical(logits=policy(nn.functional.one_hot(pos, N).float()))
            a = dist.sample()
            logps.append(dist.log_prob(a))
            ents.append(dist.entropy())
            masks.append(alive.float())
            pos = torch.where(alive, (pos + 2 * a - 1).clamp(0, N - 1), pos)
            r = -0.02 + 0.3 * (pos == 0).float() + 3.0 * (pos == N - 1).float()
            ret = ret + r * alive.float()
            alive = alive & (pos != 0) & (pos != N - 1)
        return ret, torch.stack(logps), torch.stack(masks), torch.stack(ents), pos


policy = nn.Sequential(nn.Linear(N, 32), nn.Tanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(policy.parameters(), lr=1.5e-3)
env, baseline = Corridor(), 0.0
for it in range(1, 301):
    ret, logp, mask, ent, pos = env.run(policy, 32)
    adv = ret - baseline
    baseline = 0.9 * baseline + 0.1 * ret.mean().item()
    loss = -((logp * mask).sum(0) * adv).mean() - 0.02 * (ent * mask).sum(0).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 25 == 0:
        print(f"iter {it} loss {loss.item():+.4f} return {ret.mean():.3f} reached far end {(pos == N - 1).float().mean():.2f}")
