#ifndef KP_EXEC_ARTIFACT_H
#define KP_EXEC_ARTIFACT_H

/*
 * artifact - which of kp's things a path names, told by a glance, so that a
 * command given the wrong one can say which it is and what makes the right
 * one.
 */

#include <stdbool.h>
#include "base/error.h"

enum artifact {
	ARTIFACT_ABSENT,
	ARTIFACT_DATASET, /* a folder with manifest.json */
	ARTIFACT_RUN,	  /* a folder with plan.json */
	ARTIFACT_FOLDER,  /* any other */
	ARTIFACT_BUNDLE,  /* a file that starts like one */
	ARTIFACT_JSON,	  /* a file that starts with a brace: a plan? */
	ARTIFACT_FILE,	  /* any other */
	ARTIFACT_STREAM,  /* a pipe or device, which is not looked into */
};

enum artifact artifact_of(const char *path);
/* Whether a file is made of kp's frames: a bundle, a stream, a block file. */
bool artifact_is_frames(const char *path);
const char *artifact_name(enum artifact kind); /* with an article: "a run" */

/* 0 if path is of that kind (for a bundle or JSON: or a stream; for a stream:
 * or a file that may hold one).  Otherwise
 * EXIT_CANNOT with "No such file or directory", or EXIT_CORRUPT naming what is
 * there.  want: DATASET, RUN, BUNDLE, STREAM, or JSON for a plan. */
int artifact_expect(const char *path, enum artifact want, struct error *err);

#endif
