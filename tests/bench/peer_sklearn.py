"""Per-group logistic regression by scikit-learn, as kp does it.

peer_sklearn.py TRAIN.csv HOLDOUT.csv prints "logloss VALUE ROWS": the
row-weighted hold-out log-loss of the best of 12 values of l2 for each group.
The features are those of kp-featurize --datetime date: month, weekday, hour
and destination one-hot, day index and distance standardised on training rows.
"""

import sys

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


def best(train, holdout):
    x, z = design(train, train), design(train, holdout)
    losses = []
    for l2 in GRID:
        model = LogisticRegression(
            C=1 / (l2 * len(train)), solver="lbfgs", max_iter=2000, tol=1e-6)
        model.fit(x, train["y"])
        losses.append(log_loss(
            holdout["y"], model.predict_proba(z)[:, 1], labels=[0, 1]))
    return min(losses)


def main():
    train, holdout = read(sys.argv[1]), read(sys.argv[2])
    parts = dict(tuple(holdout.groupby("origin")))
    total = rows = 0
    for origin, part in train.groupby("origin"):
        if (origin not in parts or len(part) < MIN_ROWS
                or part["y"].nunique() < 2):
            continue
        n = len(parts[origin])
        total += n * best(part, parts[origin])
        rows += n
    print("logloss %.9f %d" % (total / rows, rows))


main()
