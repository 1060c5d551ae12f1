#ifndef KP_EXEC_GAPWIRE_H
#define KP_EXEC_GAPWIRE_H

/*
 * gapwire - what the messages of a run mean: tags and payloads.
 *
 * Between holders of a group, down and up a binary tree rooted at its owner
 * (the last holder is position 0, the one before it 1, and so on; the children
 * of i are 2 i + 1 and 2 i + 2):
 *
 *	REQUEST  a pass to take: struct gap_request, then the pack's point
 *	REPLY    group, pack, sequence; then the partial and metrics
 *	END      group: it is finished, forget its rows
 *	TURN     group: those before it are, its owner may start (dp, sp)
 *
 * and, of Sequential packs, all starting with a struct gap_walk:
 *
 *	HOP      to the next holder: states to go on from
 *	EPOCH    to the owner, from the last holder of an epoch: reports, then
 *	         states
 *	SCORE    from the owner to every other holder: states to be scored
 *	SCORES   back: metrics
 *
 * or, where all holders train at once (dp), along the tree:
 *
 *	BEGIN    down: states to start from; an epoch begins
 *	SUM      up: of a step, the partial of a holder and all below it
 *	TOTAL    down: the partial of all holders: take the step
 *	NEXT     down: the lanes that have ended leave; an epoch begins
 *
 * Between a worker and kp-train:
 *
 *	PROGRESS  configs finished, of how many
 *	TRIAL, DONE  records as they happen (only when asked for)
 *	FINISHED  all units of the worker are done and on disk
 *	FAILED    why the worker ends
 *	STOP      from kp-train: save and end
 */

#include "base/bytes.h"
#include "exec/journal.h"

enum gap_tag {
	TAG_REQUEST = 1,
	TAG_REPLY,
	TAG_HOP,
	TAG_EPOCH,
	TAG_SCORE,
	TAG_SCORES,
	TAG_END,
	TAG_TURN,
	TAG_BEGIN,
	TAG_SUM,
	TAG_TOTAL,
	TAG_NEXT,
	TAG_PROGRESS,
	TAG_TRIAL,
	TAG_DONE,
	TAG_FINISHED,
	TAG_FAILED,
	TAG_STOP,
};

enum pass_kind {
	PASS_TRAIN, /* sums for the solver, and the light hold-out metric */
	PASS_FINAL, /* all hold-out metrics of lanes that have ended */
	PASS_WALK,  /* Sequential: learns from the shard's training rows */
	PASS_STEP,  /* Sequential, dp: sums of gradients over one's rows of a
		       mini-batch */
	PASS_SCORE, /* Sequential: hold-out metrics after an epoch */
};

struct gap_request {
	uint32_t group, pack, sequence;
	enum pass_kind kind;
	uint32_t lanes; /* PASS_FINAL: bit i: lane i has ended */
	uint32_t config[PACK_LANES_MAX]; /* of the lanes, [n] */
	uint32_t n;
};

void gap_request_put(const struct gap_request *r, struct strbuf *sb);
/* -1: not a request */
int gap_request_get(struct gap_request *r, struct cursor *c);

#define GAP_REASON_MAX 48

/* Lanes of a Sequential pack, and where they are. */
struct gap_walk {
	uint32_t group, pack, npack; /* npack: of how many */
	struct position at;	     /* HOP: where to go on */
	uint32_t ended, failed; /* bits of lanes: ended; of those, diverged */
	uint32_t config[PACK_LANES_MAX]; /* of the lanes, [n] */
	uint32_t n;
};
void gap_walk_put(const struct gap_walk *w, struct strbuf *sb);
/* -1: none */
int gap_walk_get(struct gap_walk *w, struct cursor *c);
void gap_report_put(const struct lane_report *r, struct strbuf *sb);
/* The text of the reason goes to text[GAP_REASON_MAX]; -1: none. */
int gap_report_get(struct lane_report *r, char *text, struct cursor *c);

struct gap_progress {
	uint64_t done, total; /* (group, config) pairs this worker owns */
	/* Over groups with a hold-out value in this call: the sum of their
	 * best value so far times hold-out weight, and of those weights. */
	double best_sum, best_weight;
};
void gap_progress_put(const struct gap_progress *g, struct strbuf *sb);
int gap_progress_get(struct gap_progress *g, struct cursor *c);

struct gap_failure {
	uint32_t code; /* enum exit_code */
	bool lost;     /* because another process has gone */
	char text[ERROR_TEXT_MAX];
};
void gap_failure_put(const struct gap_failure *f, struct strbuf *sb);
int gap_failure_get(struct gap_failure *f, struct cursor *c);

#endif
