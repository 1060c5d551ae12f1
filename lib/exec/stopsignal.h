#ifndef KP_EXEC_STOPSIGNAL_H
#define KP_EXEC_STOPSIGNAL_H

/*
 * stopsignal - SIGINT, SIGTERM and SIGHUP ask a run to save what it has and to
 * end; a second one ends the process at once, with EXIT_STOPPED.
 */

/* From here on they are counted.  One that was ignored when the process was
 * started (nohup, a shell's background) stays so. */
void stopsignal_catch(void);
/* Until then, or until somebody else takes them: SIGINT and SIGTERM say so and
 * end the process at once, with EXIT_STOPPED; for before there is anything to
 * save. */
void stopsignal_at_once(void);
/* How many have come. */
int stopsignal_count(void);

#endif
