"""Per-group logistic regression by scikit-learn, as kp does it.

peer_sklearn.py [--solver lbfgs|liblinear] [--tol T] [--processes N] TRAIN.csv
HOLDOUT.csv prints

    fit_sec SECONDS       fitting, from start until the last process was ready
    logloss VALUE ROWS    row-weighted hold-out log-loss of the best of 12
                          values of l2 for each group

The features are those of kp-featurize --datetime date: month, weekday, hour
and destination one-hot, day index and distance standardised on training rows.
They are made before the processes, to whom groups are dealt by size, begin.
"""

import argparse
import heapq
import multiprocessing
import time

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

GRID = np.logspace(-8, -1, 12)
CATEGORIES = ["month", "weekday", "hour", "destination"]
MIN_ROWS = 10  # as kp-plan --min-rows


def read(path):
    rows = pd.read_csv(path, keep_default_na=False)
    when = pd.to_datetime(rows["date"])
    rows["month"] = when.dt.month
    rows["weekday"] = when.dt.weekday
    rows["hour"] = when.dt.hour
    rows["day"] = (when - pd.Timestamp(0)) / pd.Timedelta(days=1)
    rows["y"] = (rows["delay"] > 15).astype(int)
    return rows


def design(train, rows):
    """One-hot of the levels of the training rows; others add nothing."""
    columns = []
    for name in CATEGORIES:
        levels = np.unique(train[name])
        codes = pd.Categorical(rows[name], categories=levels).codes
        known = np.flatnonzero(codes >= 0)
        ones = np.ones(len(known))
        columns.append(sparse.csr_matrix(
            (ones, (known, codes[known])), shape=(len(rows), len(levels))))
    for name in ["day", "distance"]:
        mean, std = train[name].mean(), train[name].std(ddof=0)
        value = (rows[name] - mean) / std if std > 0 else 0 * rows[name]
        columns.append(sparse.csr_matrix(value.to_numpy()[:, None]))
    return sparse.hstack(columns, format="csr")


def models(args, part):
    """The models of a group, one for each l2; the matrix is what is fitted."""
    x, y = part["x"], part["y"]
    return [LogisticRegression(
        C=1 / (l2 * len(y)), solver=args.solver, max_iter=2000,
        tol=args.tol).fit(x, y) for l2 in GRID]


def best(fitted, part):
    return min(
        log_loss(part["held_y"], m.predict_proba(part["held_x"])[:, 1],
                 labels=[0, 1])
        for m in fitted)


def parts(train, holdout):
    held = dict(tuple(holdout.groupby("origin")))
    for origin, part in train.groupby("origin"):
        if (origin not in held or len(part) < MIN_ROWS
                or part["y"].nunique() < 2):
            continue
        yield {
            "x": design(part, part), "y": part["y"].to_numpy(),
            "held_x": design(part, held[origin]),
            "held_y": held[origin]["y"].to_numpy()}


def deal(dealt, n):
    """Largest first to whoever has least."""
    hands = [(0, k, []) for k in range(n)]
    for part in sorted(dealt, key=lambda p: -len(p["y"])):
        rows, k, hand = heapq.heappop(hands)
        hand.append(part)
        heapq.heappush(hands, (rows + len(part["y"]), k, hand))
    return [hand for _, _, hand in hands]


def work(args, hand, gate, results):
    gate.wait()
    start = time.monotonic()
    fitted = [models(args, part) for part in hand]
    end = time.monotonic()
    total = sum(len(p["held_y"]) * best(m, p) for m, p in zip(fitted, hand))
    results.put((start, end, total, sum(len(p["held_y"]) for p in hand)))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--solver", default="lbfgs",
                         choices=["lbfgs", "liblinear"])
    options.add_argument("--tol", type=float, default=1e-4)
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("train")
    options.add_argument("holdout")
    args = options.parse_args()

    hands = deal(parts(read(args.train), read(args.holdout)), args.processes)
    fork = multiprocessing.get_context("fork")
    gate, results = fork.Barrier(len(hands)), fork.Queue()
    workers = [fork.Process(target=work, args=(args, hand, gate, results))
               for hand in hands]
    for worker in workers:
        worker.start()
    starts, ends, totals, rows = zip(*[results.get() for _ in workers])
    for worker in workers:
        worker.join()
    print("fit_sec %.4f" % (max(ends) - min(starts)))
    print("logloss %.9f %d" % (sum(totals) / sum(rows), sum(rows)))


main()
