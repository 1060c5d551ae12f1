# Fails if a file of lib/ includes a folder to the right of its own in `order`.
BEGIN {
	n = split(order, name, " ")
	for (i = 1; i <= n; i++)
		rank[name[i]] = i
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
	split(FILENAME, path, "/")
	split($0, quoted, "\"")
	layer = quoted[2]
	sub(/\/.*/, "", layer)
	if (!(layer in rank) || rank[layer] > rank[path[2]]) {
		printf "%s:%d: lib/%s may not include \"%s\"\n", FILENAME,
		    FNR, path[2], quoted[2]
		bad = 1
	}
}

END {
	exit bad
}
