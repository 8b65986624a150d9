import os

import torch
from torch import nn


class ActorCritic(nn.Module):
    def __init__(self, states=6, actions=4, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(states, width), nn.Tanh())
        self.policy = nn.Linear(width, actions)
        self.value = nn.Linear(states, 1)

    def forward(self, state):
        h = self.body(state)
        return torch.distributions.Categorical(logits=self.policy(h)), self.value(state)


def play(net, n):
    """A contextual bandit: each context pays its own level, and 1 more for the one right action."""
    context = torch.randint(0, 6, (n,))
    state = nn.functional.one_hot(context, 6).float()
    choice, value = net(state)
    action = choice.sample()
    reward = 5.0 * context.float() + (action == context % 4).float()
    return choice.log_prob(action), value, reward, choice.entropy().mean(), (action == context % 4).float().mean()


torch.manual_seed(int(os.environ.get("SEED", 0)))
net = ActorCritic()
optimizer = torch.optim.Adam([
    {"params": [*net.body.parameters(), *net.policy.parameters()]},
    {"params": net.value.parameters(), "lr": 0.3},
], lr=1e-2)
hits = []
for update in range(400):
    log_prob, value, reward, entropy, hit = play(net, 64)
    value_loss = nn.functional.mse_loss(value.squeeze(1), reward)
    advantage = reward - value.detach().squeeze(1)
    policy_loss = -(log_prob * advantage).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * entropy
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    hits.append(hit.item())
    if update % 50 == 49:
        print(f"update {update + 1}: right action {sum(hits[-50:]) / 50:.2f}")
