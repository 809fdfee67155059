#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A character model, trained on one core in pure Python: the real job of contrib/quickstart.

    train.py TEXT STEPS OUTPUT [--batch N]

It learns to guess the next character of TEXT from the three before it (embedding, one hidden layer, softmax, plain gradient descent) and
prints `step N loss L` for each step. The number of steps is fixed, not the time, so that the result is the same on any machine of a kind,
and the same whether or not the run was saved and resumed on the way: OUTPUT is then byte for byte the same file.
The lines that make it a job that can be saved are marked with (portal)."""
import argparse
import array
import json
import math
import operator
import os
import random

import portal                                                                   # (portal)

CONTEXT, EMBED, HIDDEN, RATE = 3, 8, 32, 0.02


def dot(a, b):
    return sum(map(operator.mul, a, b))


def matrix(rng, rows, columns):
    return [[rng.gauss(0.0, 1.0 / math.sqrt(columns)) for _ in range(columns)] for _ in range(rows)]


class CharModel:
    def __init__(self, vocabulary, rng):
        self.vocabulary = vocabulary                                            # the characters, in order
        self.embed = matrix(rng, len(vocabulary), EMBED)
        self.hidden, self.hidden_bias = matrix(rng, HIDDEN, CONTEXT * EMBED), [0.0] * HIDDEN
        self.out, self.out_bias = matrix(rng, len(vocabulary), HIDDEN), [0.0] * len(vocabulary)
        self.loss = math.log(len(vocabulary))                                   # smoothed, for the log

    def learn(self, context, target):
        """One example: forward, loss, backward, update in place. Returns the loss."""
        x = [v for c in context for v in self.embed[c]]
        h = [math.tanh(dot(row, x) + b) for row, b in zip(self.hidden, self.hidden_bias)]
        scores = [dot(row, h) + b for row, b in zip(self.out, self.out_bias)]
        top = max(scores)
        exps = [math.exp(s - top) for s in scores]
        total = sum(exps)
        loss = math.log(total) + top - scores[target]

        slope = [e / total for e in exps]
        slope[target] -= 1.0
        back = [0.0] * HIDDEN
        for i, g in enumerate(slope):
            row = self.out[i]
            if abs(g) > 1e-4:
                back = [b + g * w for b, w in zip(back, row)]
                step = RATE * g
                self.out[i] = [w - step * v for w, v in zip(row, h)]
            self.out_bias[i] -= RATE * g
        into = [0.0] * len(x)
        for j, v in enumerate(h):
            g = back[j] * (1.0 - v * v)
            row = self.hidden[j]
            into = [a + g * w for a, w in zip(into, row)]
            step = RATE * g
            self.hidden[j] = [w - step * a for w, a in zip(row, x)]
            self.hidden_bias[j] -= step
        for k, c in enumerate(context):
            part = into[k * EMBED:(k + 1) * EMBED]
            self.embed[c] = [w - RATE * g for w, g in zip(self.embed[c], part)]
        return loss

    def write(self, path):
        """Its numbers as little-endian doubles after one line of JSON; whole or not at all."""
        numbers = array.array("d", [v for part in (self.embed, self.hidden, [self.hidden_bias], self.out, [self.out_bias])
                                    for row in part for v in row])
        head = {"vocabulary": self.vocabulary, "context": CONTEXT, "embed": EMBED, "hidden": HIDDEN, "doubles": len(numbers)}
        with open(path + ".new", "wb") as f:
            f.write(json.dumps(head, sort_keys=True).encode() + b"\n" + numbers.tobytes())
            f.flush()
            os.fsync(f.fileno())
        os.replace(path + ".new", path)


def train_step(state, codes, batch):
    total = 0.0
    for _ in range(batch):
        at = state.rng.randrange(CONTEXT, len(codes))
        total += state.model.learn(codes[at - CONTEXT:at], codes[at])
    state.model.loss = 0.9 * state.model.loss + 0.1 * total / batch


def main():
    parse = argparse.ArgumentParser(description="Trains a character model.")
    parse.add_argument("text", help="a text file to learn from")
    parse.add_argument("steps", type=int, help="how many steps; each costs the same work")
    parse.add_argument("output", help="the model file that is written in the end")
    parse.add_argument("--batch", type=int, default=256, help="examples a step (256)")
    args = parse.parse_args()

    with open(args.text, encoding="utf-8") as f:
        text = f.read()
    vocabulary = sorted(set(text))
    codes = [vocabulary.index(c) for c in text]
    rng = random.Random(7)

    state = portal.state(step=0, model=CharModel(vocabulary, rng), rng=rng)      # (portal)
    while state.step < args.steps:
        train_step(state, codes, args.batch)
        state.step += 1
        print("step %d loss %.4f" % (state.step, state.model.loss), flush=True)
        portal.progress("step %d of %d" % (state.step, args.steps))             # (portal)
        portal.safe_point()                                                     # (portal)
    state.model.write(args.output)
    print("wrote %s" % args.output, flush=True)


if __name__ == "__main__":
    main()
