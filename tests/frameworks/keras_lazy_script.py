"""A Keras model of one's own class, which gets its weights when the first batch comes."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.filters = keras.layers.Conv2D(8, 3, activation="relu")
        self.norm, self.pool = keras.layers.BatchNormalization(), keras.layers.GlobalAveragePooling2D()
        self.drop, self.head = keras.layers.Dropout(0.2), keras.layers.Dense(4)

    def call(self, x, training=False):
        return self.head(self.drop(self.pool(self.norm(self.filters(x))), training=training))


keras.utils.set_random_seed(0)
random = np.random.default_rng(0)
y = random.integers(0, 4, 600)
x = random.normal(size=(600, 12, 12, 1)).astype("float32") * 0.3
for picture, kind in zip(x, y):
    picture[kind // 2 * 6:kind // 2 * 6 + 6, kind % 2 * 6:kind % 2 * 6 + 6] += 1.0 if kind % 2 else -1.0
model = Net()
model.compile(keras.optimizers.SGD(0.1, momentum=0.9), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(x[:500], y[:500], batch_size=50, epochs=6, validation_data=(x[500:], y[500:]), verbose=2)
print(sum(float(np.abs(v.numpy()).sum()) for v in model.weights))
