# The learner svm, and logistic and linear under sgd and adam, from rows to
# predictions.
load helper

# A CSV of two groups: shop, hours, colour, late, and amount, which is linear
# in the others.
shops() {
	awk '
	function uniform() {
		state = (state * 69069 + 12345) % 4294967296
		return state / 4294967296
	}
	BEGIN {
		state = 1
		print "shop,hours,colour,late,amount"
		for (i = 0; i < 3000; i++) {
			h = uniform() * 8
			c = 1 + int(uniform() * 3)
			z = h - 4 + (c - 2) + (uniform() - .5)
			printf "%s,%.3f,%s,%s,%.3f\n",
			    (uniform() < .5 ? "north" : "south"), h,
			    substr("rgb", c, 1), (z > 0 ? "yes" : "no"),
			    1000 + 2 * h - 3 * (c == 2)
		}
	}' >shops.csv
}

late() {
	shops
	kp-featurize -q --label late --positive yes --drop amount \
	    --group-by shop shops.csv -o data
}

@test "svm gives 1 where the margin is at least 0, and rows their side" {
	late
	for loss in hinge squared_hinge; do
		kp-train -q -p 1 --learner svm --param loss=$loss data -o $loss
		kp-select -q $loss -o m.kpm >selected
		kp-predict -q -m m.kpm --only-predictions -o p shops.csv
		kp-predict -q -m m.kpm --only-predictions --raw -o z shops.csv
		paste -d, p z shops.csv | awk -F, -v right=0 '
		NR > 1 {
			if (($1 >= .5) != ($3 >= 0) ||
			    ($1 - 1 / (1 + exp(-$3))) ^ 2 > 1e-20)
				exit bad = 1
			right += ($3 >= 0) == ($8 == "yes")
		}
		END { exit bad || right < .93 * (NR - 1) }'
	done
}

@test "the coefficients of svm say what its margins are made of" {
	late
	kp-train -q -p 1 --learner svm data -o run
	kp-select -q run -o m.kpm >selected
	kp-select --show north m.kpm >show
	awk '$1 == "hours" { h = $NF } $2 == "r" { r = $NF } $2 == "b" { b = $NF }
	    END { exit !(h > 0 && b > 0 && r < 0) }' show
}

@test "linear under sgd finds labels far from 0" {
	shops
	kp-featurize -q --label amount --drop late --group-by shop shops.csv \
	    -o data
	kp-train -q -p 1 --learner linear --param solver=sgd,adam data -o run
	kp-select -q run -o m.kpm >selected
	awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	    $at["rmse"] > .1 { exit 1 }' selected
}

@test "configs that make no sense are refused" {
	late
	fails 2 "kp-train: config l1=0.1,momentum=0.9: momentum cannot do l1 > 0: use momentum=0" \
	    kp-train --learner svm --param l1=0.1 --param momentum=0.9 data \
	    -o run
	fails 2 "kp-train: config nesterov=1: nesterov=1 needs momentum above 0" \
	    kp-train --learner svm --param nesterov=1 data -o run
	fails 2 "kp-train: config solver=adam,l1=0.1: solver=adam cannot do l1 > 0: use solver=sgd" \
	    kp-train --learner logistic --param solver=adam --param l1=0.1 \
	    data -o run
	fails 2 "kp-train: config solver=adam,momentum=0.5: solver=adam has no momentum: use solver=sgd, or momentum=0" \
	    kp-train --learner svm --param solver=adam --param momentum=0.5 \
	    data -o run
	fails 2 "kp-train: config solver=owlqn: solver=owlqn cannot do loss=hinge, which has kinks: use solver=sgd, adam or auto, or loss=squared_hinge" \
	    kp-train --learner svm --param solver=owlqn data -o run
	fails 2 'kp-train: --param momentum does nothing under solver=auto: add --param solver=sgd' \
	    kp-train --learner svm --param loss=squared_hinge \
	    --param momentum=0.5 data -o run
	local t=tolerance=1e-6
	local unused="kp-train: --param tolerance does nothing under"
	fails 2 "$unused loss=hinge: add --param loss=squared_hinge" \
	    kp-train --learner svm --param $t data -o run
	fails 2 "$unused loss=hinge: it goes with loss=squared_hinge" \
	    kp-train --learner svm --param loss=hinge --param $t data -o run
	fails 2 "$unused solver=sgd" \
	    kp-train --learner svm --param solver=sgd --param $t data -o run
	kp-train -q --learner svm --param loss=squared_hinge --param $t data \
	    -o advised
	fails 2 'kp-train: --param loss=hinges: no "hinges" (did you mean "hinge"?)' \
	    kp-train --learner svm --param loss=hinges data -o run
	kp-featurize -q --label hours shops.csv -o numbers
	fails 2 'kp-train: --learner svm: svm needs a binary label (see --task, --positive and --positive-if of kp-featurize)' \
	    kp-train --learner svm numbers -o run
}
