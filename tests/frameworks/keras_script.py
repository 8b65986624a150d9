"""An ordinary Keras training on torch. FAULT=zero breaks it in a way people do."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch

keras.utils.set_random_seed(3)
random = np.random.default_rng(3)
x = random.normal(size=(512, 12)).astype("float32")
y = (x[:, :4] + 0.1 * random.normal(size=(512, 4))).argmax(1)
model = keras.Sequential([keras.layers.Input((12,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(4)])
model.compile(keras.optimizers.Adam(0.0 if os.environ.get("FAULT") == "zero" else 1e-2),
              keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(x[:384], y[:384], batch_size=32, epochs=6, validation_data=(x[384:], y[384:]), verbose=2)
torch.save({v.path: torch.tensor(v.numpy()) for v in model.weights}, os.environ["WEIGHTS"])
