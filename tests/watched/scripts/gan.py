import os

import torch
from torch import nn

torch.manual_seed(2)
generator = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 1))
opt_g, opt_c = torch.optim.Adam(generator.parameters(), 2e-3), torch.optim.RMSprop(critic.parameters(), 2e-3)
bce = nn.BCEWithLogitsLoss()
for _step in range(40):
    real = torch.randn(32, 2) + 3
    fake = generator(torch.randn(32, 4))
    opt_c.zero_grad()
    loss_c = bce(critic(real), torch.ones(32, 1)) + bce(critic(fake.detach()), torch.zeros(32, 1))
    loss_c.backward()
    opt_c.step()
    opt_g.zero_grad()
    loss_g = bce(critic(fake), torch.ones(32, 1))
    loss_g.backward()
    opt_g.step()
print(loss_c.item(), loss_g.item())
torch.save({"g": generator.state_dict(), "c": critic.state_dict()}, os.environ["WEIGHTS"])
