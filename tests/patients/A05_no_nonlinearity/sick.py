import os

import torch
from sklearn.datasets import make_circles
from torch import nn

SEED = int(os.environ.get("SEED", 0))
torch.manual_seed(SEED)
X, y = make_circles(n_samples=1000, noise=0.06, factor=0.6, random_state=SEED)
X = torch.from_numpy(X).type(torch.float)
y = torch.from_numpy(y).type(torch.float)
X_train, X_test, y_train, y_test = X[:800], X[800:], y[:800], y[800:]


class CircleModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer_1 = nn.Linear(2, 16)
        self.layer_2 = nn.Linear(16, 16)
        self.layer_3 = nn.Linear(16, 1)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.layer_3(self.layer_2(self.layer_1(x)))


model = CircleModel()
loss_fn = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(params=model.parameters(), lr=0.1, momentum=0.9)

epochs = 400
for epoch in range(epochs):
    model.train()
    y_logits = model(X_train).squeeze()
    loss = loss_fn(y_logits, y_train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.inference_mode():
        test_logits = model(X_test).squeeze()
        test_loss = loss_fn(test_logits, y_test)
        test_acc = ((test_logits > 0) == (y_test > 0.5)).float().mean()
    if epoch % 50 == 0 or epoch == epochs - 1:
        print(f"Epoch: {epoch} | Loss: {loss:.5f} | Test loss: {test_loss:.5f}, Test acc: {test_acc:.3f}")
print(f"accuracy {test_acc:.3f}")
