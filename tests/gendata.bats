# The generator of the benches' data, tests/bench/gendata.c.
load helper

gendata() {
	"$KP_BIN/../bench/gendata" "$@"
}

# The bytes of every kind at small sizes, in one sum.
sum() {
	{
		gendata dense --rows 500 --features 5 "$@"
		gendata dense --rows 500 --features 5 --classes 7 "$@"
		gendata dense --rows 500 --features 5 --regression "$@"
		gendata sparse --rows 500 --dim 1000 "$@"
		gendata lines --bytes 10K --length 32 "$@"
	} | md5sum | cut -c -32
}

@test "generated data are the same bytes on every machine" {
	equal "$(sum --seed 1)" 093ecc7bbfd71969e78ee6d2599dfc01
	equal "$(sum --seed 2)" dffb219a7bee800dc68564d957856ec6
}

@test "an order changes the places of rows, not the rows" {
	for kind in dense 'dense --classes 7' 'dense --regression' sparse; do
		# shellcheck disable=SC2086
		gendata $kind --rows 2000 --dim 1000 | sort >none
		for order in label feature; do
			# shellcheck disable=SC2086
			gendata $kind --rows 2000 --dim 1000 --order $order >got
			sort got | cmp - none
		done
	done
}

@test "rows ordered by label or by the first feature are" {
	gendata dense --rows 2000 --order label | tail -n +2 >got
	sort -s -n -t , -k 1,1 -c got
	gendata dense --rows 2000 --classes 7 --order label | tail -n +2 >got
	sort -s -t , -k 1,1 -c got
	gendata dense --rows 2000 --regression --order label | tail -n +2 >got
	sort -s -n -t , -k 1,1 -c got
	gendata dense --rows 2000 --order feature | tail -n +2 >got
	sort -s -n -t , -k 2,2 -c got
	gendata sparse --rows 2000 --order label >got
	sort -s -n -k 1,1 -c got
	[ "$(cut -c 1 got | uniq | tr -d '\n')" = 01 ]
	gendata sparse --rows 2000 --order feature | sed 's/^. 1://' >got
	sort -s -n -k 1,1 -c got
}

@test "lines are of the length asked for, numbered, and as many as fit" {
	gendata lines --bytes 1K --length 20 >got
	equal "$(wc -l <got)" 51
	equal "$(awk '{ print length }' got | sort -u)" 19
	equal "$(sed -n '51s/ .*//p' got)" 50
}

@test "an unknown kind or order is refused" {
	fails 2 'gendata: not dense, sparse, clicks or lines: "tall"' gendata tall
	fails 2 'gendata: --order: not none, label or feature: "up"' \
	    gendata dense --order up
}
