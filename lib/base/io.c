#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"

#define OUTFILE_BUFFER_BYTES ((size_t)1 << 20)
#define BEGIN_BYTES ((uint64_t)4 << 20)

struct outfile {
	int fd;
	char *path;    /* the name it takes at commit */
	char *tmp;     /* its name until then; NULL: path itself */
	bool nameless; /* tmp is for commit alone */
	char *buffer;
	size_t n;	/* bytes in buffer */
	uint64_t total; /* bytes in all */
	uint64_t begun; /* bytes the system was told to write */
};

static void
outfile_free(struct outfile *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f->tmp);
	free(f->buffer);
	free(f);
}

static char *
temporary_name(const char *path)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "%s.tmp.%ld", path, (long)getpid());
	return strbuf_detach(&sb, NULL);
}

/* The folder that holds path last. */
static char *
parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	return n ? xmemdup(path, n) : xstrdup(slash ? "/" : ".");
}

struct fd_path {
	char text[40];
};

/* What linkat(2) takes for a file without a name. */
static struct fd_path
path_of_fd(int fd)
{
	struct fd_path p;

	snprintf(p.text, sizeof(p.text), "/proc/self/fd/%d", fd);
	return p;
}

/* A file without a name, which goes with its last descriptor; -1 where there
 * is no such thing, or it could take no name later. */
static int
open_nameless(const struct outfile *f)
{
	struct stat st;
	char *dir;
	int fd;

	if (lstat(f->tmp, &st) == 0 || errno != ENOENT)
		return -1;
	dir = parent_of(f->path);
	fd = open(dir, O_WRONLY | O_CLOEXEC | O_TMPFILE, 0666);
	free(dir);
	if (fd >= 0 && access(path_of_fd(fd).text, F_OK) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

struct outfile *
outfile_open(const char *path, struct error *err)
{
	struct outfile *f = xcalloc(1, sizeof(*f));
	struct stat st;
	bool exists = stat(path, &st) == 0;
	int flags = O_WRONLY | O_CLOEXEC | O_CREAT | O_TRUNC;

	f->path = exists ? realpath(path, NULL) : NULL;
	if (!f->path)
		f->path = xstrdup(path);
	if (!exists || S_ISREG(st.st_mode))
		f->tmp = temporary_name(f->path);
	f->fd = f->tmp ? open_nameless(f) : -1;
	f->nameless = f->fd >= 0;
	if (!f->nameless)
		f->fd = open(f->tmp ? f->tmp : f->path, flags, 0666);
	if (f->fd < 0) {
		error_sys(err, "%s", path);
		outfile_free(f);
		return NULL;
	}
	f->buffer = xmalloc(OUTFILE_BUFFER_BYTES);
	return f;
}

/* A file that will be fsynced is better written meanwhile. */
static void
begin_writing(struct outfile *f)
{
	uint64_t n = f->total - f->n - f->begun;

	if (!f->tmp || n < BEGIN_BYTES)
		return;
	sync_file_range(f->fd, (off_t)f->begun, (off_t)n,
			SYNC_FILE_RANGE_WRITE);
	f->begun += n;
}

static int
outfile_flush(struct outfile *f, struct error *err)
{
	size_t n = f->n;

	f->n = 0;
	return io_write_all(f->fd, f->buffer, n, f->path, err);
}

int
outfile_write(struct outfile *f, const void *p, size_t n, struct error *err)
{
	if (n > OUTFILE_BUFFER_BYTES - f->n) {
		if (outfile_flush(f, err) < 0)
			return -1;
		begin_writing(f);
	}
	f->total += n;
	if (n >= OUTFILE_BUFFER_BYTES)
		return io_write_all(f->fd, p, n, f->path, err);
	if (n)
		memcpy(f->buffer + f->n, p, n);
	f->n += n;
	return 0;
}

uint64_t
outfile_tell(const struct outfile *f)
{
	return f->total;
}

/* Makes names in the folder that holds path last. */
static int
sync_parent(const char *path, struct error *err)
{
	char *dir = parent_of(path);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = 0;

	/* Some file systems cannot fsync a folder and say EINVAL. */
	if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
		ret = error_sys(err, "%s", dir);
	if (fd >= 0)
		close(fd);
	free(dir);
	return ret;
}

static int
link_fd(int fd, const char *path)
{
	return linkat(AT_FDCWD, path_of_fd(fd).text, AT_FDCWD, path,
		      AT_SYMLINK_FOLLOW);
}

/* A link replaces nothing, so only a new path can be had in one step. */
static int
take_name(struct outfile *f)
{
	int fd = f->fd;

	if (f->nameless) {
		if (link_fd(fd, f->path) == 0) {
			free(f->tmp);
			f->tmp = NULL;
		} else if (errno != EEXIST || link_fd(fd, f->tmp) < 0) {
			return -1;
		}
		f->nameless = false;
	}
	f->fd = -1;
	if (close(fd) < 0)
		return -1;
	return f->tmp ? rename(f->tmp, f->path) : 0;
}

int
outfile_settle(struct outfile *f, struct error *err)
{
	if (outfile_flush(f, err) < 0)
		return -1;
	if (f->tmp && fsync(f->fd) < 0)
		return error_sys(err, "%s", f->path);
	return 0;
}

int
outfile_commit(struct outfile *f, struct error *err)
{
	bool aside = f->tmp != NULL;

	if (outfile_settle(f, err) < 0)
		goto fail;
	if (take_name(f) < 0) {
		error_sys(err, "%s", f->path);
		goto fail;
	}
	if (aside && sync_parent(f->path, err) < 0) {
		outfile_free(f);
		return -1;
	}
	outfile_free(f);
	return 0;
fail:
	outfile_drop(f);
	return -1;
}

int
outfile_place(struct outfile *f, struct error *err)
{
	if (outfile_flush(f, err) < 0) {
		outfile_drop(f);
		return -1;
	}
	if (take_name(f) < 0) {
		error_sys(err, "%s", f->path);
		outfile_drop(f);
		return -1;
	}
	outfile_free(f);
	return 0;
}

void
outfile_drop(struct outfile *f)
{
	if (!f)
		return;
	if (f->tmp && !f->nameless)
		unlink(f->tmp);
	outfile_free(f);
}

/* path without slashes at its end. */
static char *
trimmed(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return xmemdup(path, n);
}

int
outdir_begin(const char *path, struct strbuf *tmp, struct error *err)
{
	char *final = trimmed(path);
	char *name = temporary_name(final);
	int ret = -1;

	if (io_exists(final)) {
		error_set(err, EXIT_CANNOT, "%s: already exists", final);
		goto out;
	}
	io_remove_tree(name); /* of an earlier process of our number */
	if (mkdir(name, 0777) < 0) {
		error_sys(err, "%s", final);
		goto out;
	}
	strbuf_addstr(tmp, name);
	ret = 0;
out:
	free(name);
	free(final);
	return ret;
}

/* Calls visit with each path in the folder; stops when it returns -1. */
static int
each_entry(const char *dir, int (*visit)(const char *path, struct error *err),
	   struct error *err)
{
	struct strbuf path = STRBUF_INIT;
	struct dirent *e;
	DIR *d = opendir(dir);
	int ret = 0;

	if (!d)
		return error_sys(err, "%s", dir);
	while (ret == 0 && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		ret = visit(io_join(&path, dir, e->d_name), err);
	}
	closedir(d);
	strbuf_release(&path);
	return ret;
}

/* fsync of a file or, below first, of a folder. */
static int
sync_tree(const char *path, struct error *err)
{
	struct stat st;
	int fd, ret = 0;

	if (lstat(path, &st) < 0)
		return error_sys(err, "%s", path);
	if (S_ISDIR(st.st_mode) && each_entry(path, sync_tree, err) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 ||
	    (fsync(fd) < 0 && !(errno == EINVAL && S_ISDIR(st.st_mode))))
		ret = error_sys(err, "%s", path);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* rename(2) that never replaces, not even an empty folder. */
static int
rename_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (io_exists(to)) {
		errno = EEXIST;
		return -1;
	}
	return rename(from, to);
}

int
outdir_commit(const char *tmp, const char *path, struct error *err)
{
	char *final = trimmed(path);
	int ret = -1;

	if (sync_tree(tmp, err) < 0)
		goto out;
	if (rename_new(tmp, final) < 0) {
		if (errno == EEXIST)
			error_set(err, EXIT_CANNOT, "%s: already exists",
				  final);
		else
			error_sys(err, "%s", final);
		goto out;
	}
	ret = sync_parent(final, err);
out:
	free(final);
	return ret;
}

void
outdir_drop(const char *tmp)
{
	io_remove_tree(tmp);
}

/* Whether name is base.tmp.PID. */
static bool
is_aside(const char *name, const char *base)
{
	static const char tmp[] = ".tmp.";
	size_t n = strlen(base);

	return strncmp(name, base, n) == 0 &&
	       strncmp(name + n, tmp, sizeof tmp - 1) == 0 &&
	       strspn(name + n + sizeof tmp - 1, "0123456789") ==
		   strlen(name + n + sizeof tmp - 1);
}

void
outdir_sweep(const char *path)
{
	char *final = trimmed(path), *dir = parent_of(final);
	const char *slash = strrchr(final, '/');
	const char *base = slash ? slash + 1 : final;
	struct strbuf left = STRBUF_INIT;
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (is_aside(e->d_name, base))
			io_remove_tree(io_join(&left, dir, e->d_name));
	if (d)
		closedir(d);
	strbuf_release(&left);
	free(dir);
	free(final);
}

int
io_write_file(const char *path, const void *p, size_t n, struct error *err)
{
	struct outfile *f;

	if (strcmp(path, "-") == 0)
		return io_write_all(STDOUT_FILENO, p, n, "standard output",
				    err);
	f = outfile_open(path, err);
	if (!f)
		return -1;
	if (outfile_write(f, p, n, err) < 0) {
		outfile_drop(f);
		return -1;
	}
	return outfile_commit(f, err);
}

int
io_read_file(const char *path, size_t max_bytes, struct strbuf *sb,
	     struct error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : io_open_read(path, err);
	size_t start = sb->len;
	struct stat st;
	ssize_t got;
	int ret = -1;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    (!max_bytes || (uint64_t)st.st_size <= max_bytes))
		strbuf_reserve(sb, (size_t)st.st_size + 1);
	for (;;) {
		strbuf_reserve(sb, 4096);
		got = read(fd, sb->buf + sb->len, sb->cap - sb->len - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		sb->len += (size_t)got;
		if (max_bytes && sb->len - start > max_bytes) {
			error_set(err, EXIT_CORRUPT,
				  "%s: larger than %zu bytes", path, max_bytes);
			goto out;
		}
	}
	sb->buf[sb->len] = '\0';
	if (got < 0)
		error_sys(err, "%s", path);
	else
		ret = 0;
out:
	if (!is_stdin)
		close(fd);
	if (ret < 0)
		strbuf_truncate(sb, start);
	return ret;
}

bool
io_wait_writable(int fd)
{
	struct pollfd room = {.fd = fd, .events = POLLOUT};

	if (errno != EAGAIN && errno != EWOULDBLOCK)
		return false;
	poll(&room, 1, -1);
	return true;
}

int
io_write_all(int fd, const void *p, size_t n, const char *name,
	     struct error *err)
{
	const char *at = p;

	while (n) {
		ssize_t put = write(fd, at, n);

		if (put < 0 && (errno == EINTR || io_wait_writable(fd)))
			continue;
		if (put < 0)
			return error_sys(err, "%s", name);
		at += put;
		n -= (size_t)put;
	}
	return 0;
}

int
io_pread_all(int fd, void *p, size_t n, uint64_t offset, const char *name,
	     struct error *err)
{
	char *at = p;

	while (n) {
		ssize_t got = pread(fd, at, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_sys(err, "%s", name);
		if (got == 0)
			return error_set(err, EXIT_CORRUPT,
					 "%s: truncated at byte %" PRIu64, name,
					 offset);
		at += got;
		n -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

int
io_open_read(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return error_sys(err, "%s", path);
	return fd;
}

int
io_temporary(const char *dir, struct error *err)
{
	struct strbuf path = STRBUF_INIT;
	int fd = open(dir, O_RDWR | O_CLOEXEC | O_TMPFILE | O_EXCL, 0600);

	if (fd >= 0)
		return fd;
	strbuf_addf(&path, "%s/kp.XXXXXX", dir);
	fd = mkostemp(path.buf, O_CLOEXEC);
	if (fd < 0)
		error_sys(err, "%s: cannot make a temporary file", dir);
	else
		unlink(path.buf);
	strbuf_release(&path);
	return fd;
}

int
io_mkdir_p(const char *path, struct error *err)
{
	char *dir = xstrdup(path);
	struct stat st;
	int ret = 0;

	for (char *p = dir + 1; dir[0]; p++) {
		bool last = *p == '\0';

		if (*p != '/' && !last)
			continue;
		*p = '\0';
		if (mkdir(dir, 0777) < 0 && errno != EEXIST) {
			ret = error_sys(err, "%s", dir);
			break;
		}
		if (last)
			break;
		*p = '/';
	}
	if (ret == 0 && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
		ret = error_set(err, EXIT_CANNOT, "%s: not a folder", path);
	free(dir);
	return ret;
}

/* Of two paths that are not there yet. */
static bool
same_new_file(const char *a, const char *b)
{
	const char *name_a = strrchr(a, '/'), *name_b = strrchr(b, '/');
	char *dir_a = parent_of(a), *dir_b = parent_of(b);
	struct stat sa, sb;
	bool same = stat(dir_a, &sa) == 0 && stat(dir_b, &sb) == 0 &&
		    sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;

	free(dir_a);
	free(dir_b);
	return same &&
	       strcmp(name_a ? name_a + 1 : a, name_b ? name_b + 1 : b) == 0;
}

bool
io_same_file(const char *a, const char *b)
{
	struct stat sa, sb;
	bool is_a = stat(a, &sa) == 0, is_b = stat(b, &sb) == 0;

	if (is_a && is_b)
		return S_ISREG(sa.st_mode) && sa.st_dev == sb.st_dev &&
		       sa.st_ino == sb.st_ino;
	return !is_a && !is_b && same_new_file(a, b);
}

bool
io_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static int
remove_entry(const char *path, struct error *err)
{
	if (unlink(path) < 0 && (errno == EISDIR || errno == EPERM)) {
		each_entry(path, remove_entry, err);
		rmdir(path);
	}
	return 0;
}

void
io_remove_tree(const char *path)
{
	struct error ignored;

	remove_entry(path, &ignored);
}

const char *
io_join(struct strbuf *sb, const char *dir, const char *name)
{
	size_t n = strlen(dir);

	strbuf_reset(sb);
	strbuf_addstr(sb, dir);
	if (n && dir[n - 1] != '/')
		strbuf_addch(sb, '/');
	strbuf_addstr(sb, name);
	return sb->buf;
}
