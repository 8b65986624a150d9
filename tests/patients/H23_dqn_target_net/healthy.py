import copy
import os
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

seed = int(os.environ.get("SEED", 0))
random.seed(seed)
torch.manual_seed(seed)
N = 8  # corridor length, reward at the right end


def one_hot(s):
    return F.one_hot(torch.as_tensor(s), N).float()


def env_step(s, a):
    s2 = min(N - 1, s + 1) if a == 1 else max(0, s - 1)
    done = s2 == N - 1
    return s2, (1.0 if done else -0.02), done


q = nn.Sequential(nn.Linear(N, 32), nn.ReLU(), nn.Linear(32, 2))
target = copy.deepcopy(q)
for p in target.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam(q.parameters(), lr=3e-3)
buffer, updates = [], 0
for episode in range(60):
    s, eps = 0, max(0.1, 1 - episode / 30)
    for _ in range(40):
        with torch.no_grad():
            a = random.randrange(2) if random.random() < eps else int(q(one_hot(s)).argmax())
        s2, r, done = env_step(s, a)
        buffer.append((s, a, r, s2, float(done)))
        s = s2
        if len(buffer) >= 64:
            S, A, R, S2, D = map(torch.tensor, zip(*random.sample(buffer, 32)))
            with torch.no_grad():
                goal = R + 0.95 * (1 - D) * target(one_hot(S2)).max(1).values
            loss = F.smooth_l1_loss(q(one_hot(S)).gather(1, A[:, None]).squeeze(1), goal)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if updates % 100 == 0:
                target.load_state_dict(q.state_dict())
            if updates % 200 == 0:
                print(f"episode {episode} update {updates} loss {loss.item():.5f}")
            updates += 1
        if done:
            break
s, steps = 0, 0
with torch.no_grad():
    while s != N - 1 and steps < 40:
        s, _, _ = env_step(s, int(q(one_hot(s)).argmax()))
        steps += 1
print("greedy steps to goal", steps)
