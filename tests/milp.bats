load helper

# What glpsol says of linear programs that kp-plan --emit-lp writes; that of
# schedules is in unit/test_milp.c.

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	# Two groups, of 90 and 10 % of 600 rows.
	awk 'BEGIN { s = 3; print "g,x,y"
		for (i = 0; i < 600; i++) {
			s = (s * 69069 + 12345) % 4294967296
			print (i % 10 ? "a" : "b") "," i % 37 "," \
			    (s / 4294967296 * 37 > i % 37 ? 1 : 0)
		} }' |
	    kp-featurize -q --label y --positive 1 --group-by g --holdout 0 \
		- -o data
}

setup() {
	kp_setup
	ln -s "$BATS_FILE_TMPDIR"/data .
}

# plan P [OPTION...]: with a linear program in lp.
plan() {
	kp-partition -p "$1" data | kp-plan --learner logistic \
	    --param solver=sgd --pack-width 1 --emit-lp lp "${@:2}"
}

# optimum: of lp, in its unit of time.
optimum() {
	timeout 60 glpsol --lp lp --tmlim 50 -o sol >said
	grep -q 'INTEGER OPTIMAL' sol
	sed -n 's/^Objective:  makespan = \([^ ]*\).*/\1/p' sol
}

unit() {
	sed -n '1s/.*unit of time is \(.*\) s$/\1/p' lp
}

@test "--emit-lp writes a program that glpsol reads, beside the same plan" {
	need glpsol
	plan 2 --param learning_rate=0.01,0.1 >plan
	kp-partition -p 2 data | kp-plan --learner logistic --param solver=sgd \
	    --pack-width 1 --param learning_rate=0.01,0.1 | cmp - plan
	glpsol --check --lp lp >said
	grep -q "integer variables, all of which are binary" said
	head -1 lp | grep -q '^\\ 2 groups, 2 packs, 2 workers; one unit of time is 1e-[0-9]* s$'
}

@test "the optimum is the lower bound where packs are as many as workers" {
	need glpsol
	# Two packs over 600 rows, on two workers.
	plan 2 --param learning_rate=0.01,0.1 >plan
	all=$(sed -n 's/^.*job_g0_c0: C >= \(.*\)/\1/p' lp)
	near "$(optimum)" "$(awk -v j="$all" 'BEGIN { print j / .9 }')" 1e-6
}

@test "a Sequential config takes as long as the largest group on any workers" {
	need glpsol
	plan 3 --param learning_rate=0.1 >plan
	near "$(optimum)" "$(sed -n 's/^.*job_g0_c0: C >= \(.*\)/\1/p' lp)" 1e-6
	# Which an Algebraic one does not.
	kp-partition -p 3 data | kp-plan --learner logistic --pack-width 1 \
	    --emit-lp lp >plan
	[ "$(grep -c '^ job' lp)" -eq 0 ]
	whole=$(sed -n 's/^  - \([0-9.]*\) N_g0_w0$/\1/p' lp | head -1)
	near "$(optimum)" "$(awk -v w="$whole" 'BEGIN { print w / 3 }')" 1e-6
}

@test "an instance too large to solve is refused" {
	kp-partition -p 120 data >part
	fails 2 "kp-plan: --emit-lp: too large for a linear program: 2 groups x 1 packs x 120 workers are more than 200" \
	    kp-plan --learner logistic --param l2=0.1,0.01 --emit-lp lp part
	[ ! -e lp ]
	fails 2 "kp-plan: --emit-lp does not go with --pilot" \
	    kp-plan --pilot data --emit-lp lp
	fails 2 "kp-plan: --emit-lp: nothing to write a linear program of: no group is trained" \
	    kp-plan --learner logistic --min-rows 1000 --emit-lp lp part
}
