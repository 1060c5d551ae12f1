#ifndef KP_DATA_TASK_H
#define KP_DATA_TASK_H

/* task - what is to be predicted, and the part of the data a row is in. */

enum task {
	TASK_BINARY = 1, /* label 0 or 1 */
	TASK_MULTICLASS, /* label 0 .. nclass - 1 */
	TASK_REGRESSION, /* label any finite number */
};

enum part { PART_TRAIN, PART_HOLDOUT, PART_TEST, PART_COUNT };

#endif
