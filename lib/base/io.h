#ifndef KP_BASE_IO_H
#define KP_BASE_IO_H

/*
 * io - files that are whole or absent, and reads and writes that finish.
 *
 * An outfile is written aside and takes its name at commit, after fsync of file
 * and folder.  Until then it has no name where the file system can do that
 * (O_TMPFILE), so that even SIGKILL leaves nothing behind; elsewhere it is
 * PATH.tmp.PID in the same folder, and leaves nothing if dropped.  A path that exists and is no regular file (a pipe, a
 * device) is written to directly; a symbolic link keeps pointing at the file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/error.h"
#include "base/strbuf.h"

struct outfile;
/* Writes through a 1 MB buffer; NULL on failure. */
struct outfile *outfile_open(const char *path, struct error *err);
int outfile_write(struct outfile *f, const void *p, size_t n,
                  struct error *err);
uint64_t outfile_tell(const struct outfile *f); /* bytes written so far */
/* Flush and fsync: what a later commit may fail for, but for its name. */
int outfile_settle(struct outfile *f, struct error *err);
/* Flush, fsync, rename, fsync of the folder; frees f whatever happens. */
int outfile_commit(struct outfile *f, struct error *err);
/* Flush and rename only; frees f whatever happens.  For files in a folder
 * whose outdir_commit() will fsync them all. */
int outfile_place(struct outfile *f, struct error *err);
/* Removes what was written; NULL is legal. */
void outfile_drop(struct outfile *f);

/* A folder written aside and renamed: outdir_begin() makes PATH.tmp.PID and
 * appends its name to tmp; outdir_commit() fsyncs every file in it and the
 * folder, then renames it to path, which must not exist (an existing path
 * fails at begin, with EXIT_CANNOT, naming it); outdir_drop() removes it,
 * also after a commit that failed. */
int outdir_begin(const char *path, struct strbuf *tmp, struct error *err);
int outdir_commit(const char *tmp, const char *path, struct error *err);
void outdir_drop(const char *tmp);
/* Removes what killed processes have left of such a folder; for who knows that
 * no other process writes it. */
void outdir_sweep(const char *path);

/* Whole file into sb; larger than max_bytes is an error (0: no bound). The
 * path "-" is standard input. */
int io_read_file(const char *path, size_t max_bytes, struct strbuf *sb,
                 struct error *err);
/* The counterpart: an outfile of these n bytes; "-" is standard output. */
int io_write_file(const char *path, const void *p, size_t n,
                  struct error *err);
/* After a write(2) to fd that failed: whether it only had no room, with
 * O_NONBLOCK; waits until it has, or a signal comes. */
bool io_wait_writable(int fd);
/* All n bytes or an error; EINTR is retried.  name is for the message. */
int io_write_all(int fd, const void *p, size_t n, const char *name,
                 struct error *err);
/* Exactly n bytes at offset; a short file is EXIT_CORRUPT "truncated". */
int io_pread_all(int fd, void *p, size_t n, uint64_t offset, const char *name,
                 struct error *err);
/* open(2) with O_CLOEXEC; -1 and err on failure. */
int io_open_read(const char *path, struct error *err);
/* A file in dir for reading and writing that no name leads to, gone with its
 * last descriptor; close-on-exec.  -1 and EXIT_CANNOT naming dir. */
int io_temporary(const char *dir, struct error *err);
int io_mkdir_p(const char *path, struct error *err);
bool io_exists(const char *path);
/* Whether both paths lead to one regular file, there or, in the same folder by
 * the same name, yet to be made. */
bool io_same_file(const char *a, const char *b);
/* Removes a file, or a folder with all below; silent. */
void io_remove_tree(const char *path);
/* dir "/" name appended to a reset sb; returns sb->buf. */
const char *io_join(struct strbuf *sb, const char *dir, const char *name);

#endif
