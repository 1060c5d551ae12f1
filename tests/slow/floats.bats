#!/usr/bin/env bats
# Functions of a float, at each of them.

load ../helper

@test "exp, log1p and the single logistic pair keep their bounds on every float" {
	KP_EVERY_FLOAT=1 "$KP_BIN/../test/test_floats"
}
