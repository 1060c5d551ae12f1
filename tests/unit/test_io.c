#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <signal.h>
#include "base/frame.h"
#include "base/io.h"

static struct strbuf at; /* the path under the test's folder */
static char dir[64];

static const char *
in_dir(const char *name)
{
	return io_join(&at, dir, name);
}

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
}

/* How many entries of dir have ".tmp." in their name. */
static int
leftovers(void)
{
	char command[128];
	int n = -1;
	FILE *f;

	snprintf(command, sizeof(command), "ls -a %s | grep -c '[.]tmp[.]'",
		 dir);
	f = popen(command, "r");
	if (fscanf(f, "%d", &n) != 1)
		n = -1;
	pclose(f);
	return n;
}

static bool
has_nameless_files(void)
{
	int fd = open(dir, O_WRONLY | O_TMPFILE, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void
commit(void)
{
	struct error err = ERROR_NONE;
	struct strbuf sb = STRBUF_INIT;
	char *big = malloc(3 << 20);
	struct outfile *f;
	char path[128];

	snprintf(path, sizeof(path), "%s/whole", dir);
	memset(big, 'b', 3 << 20);
	write_file(path, "old");
	f = outfile_open(path, &err);
	CHECK(f != NULL);
	CHECK_OK(outfile_write(f, "abc", 3, &err), err);
	CHECK_OK(outfile_write(f, big, 3 << 20, &err), err);
	CHECK_OK(outfile_write(f, "xyz", 3, &err), err);
	CHECK_INT(outfile_tell(f), (3 << 20) + 6);
	CHECK_OK(io_read_file(path, 0, &sb, &err), err);
	CHECK_STR(sb.buf, "old");
	CHECK_OK(outfile_commit(f, &err), err);
	strbuf_reset(&sb);
	CHECK_OK(io_read_file(path, 0, &sb, &err), err);
	CHECK_INT(sb.len, (3 << 20) + 6);
	CHECK_MEM(sb.buf, "abcbbb", 6);
	CHECK_STR(sb.buf + sb.len - 6, "bbbxyz");
	CHECK_INT(leftovers(), 0);
	strbuf_release(&sb);
	free(big);
}

static void
drop(void)
{
	struct error err = ERROR_NONE;
	struct outfile *f = outfile_open(in_dir("dropped"), &err);

	CHECK_INT(leftovers(), has_nameless_files() ? 0 : 1);
	CHECK_OK(outfile_write(f, "abc", 3, &err), err);
	CHECK_OK(outfile_settle(f, &err), err);
	CHECK(!io_exists(in_dir("dropped")));
	outfile_drop(f);
	outfile_drop(NULL);
	CHECK_INT(leftovers(), 0);
	CHECK(!io_exists(in_dir("dropped")));
}

static void
killed(void)
{
	struct error err = ERROR_NONE;
	char *big = calloc(1, 3 << 20);
	struct outfile *f;
	pid_t child;
	int st = 0;

	child = fork();
	if (child == 0) {
		f = outfile_open(in_dir("killed"), &err);
		if (f && outfile_write(f, big, 3 << 20, &err) == 0)
			raise(SIGKILL);
		_exit(1);
	}
	CHECK_INT(waitpid(child, &st, 0), child);
	CHECK(WIFSIGNALED(st));
	CHECK(!io_exists(in_dir("killed")));
	if (has_nameless_files())
		CHECK_INT(leftovers(), 0);
	free(big);
}

/* A file that is there is replaced, and so is one that came meanwhile. */
static void
replaced(void)
{
	struct error err = ERROR_NONE;
	struct strbuf sb = STRBUF_INIT;
	struct outfile *f;

	for (int i = 0; i < 2; i++) {
		f = outfile_open(in_dir("replaced"), &err);
		CHECK_OK(outfile_write(f, i ? "2" : "1", 1, &err), err);
		write_file(in_dir("replaced"), "other");
		CHECK_OK(outfile_commit(f, &err), err);
		strbuf_reset(&sb);
		CHECK_OK(io_read_file(in_dir("replaced"), 0, &sb, &err), err);
		CHECK_STR(sb.buf, i ? "2" : "1");
	}
	CHECK_INT(leftovers(), 0);
	strbuf_release(&sb);
}

static void
same_file(void)
{
	struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;

	io_join(&a, dir, "same");
	strbuf_addf(&b, "%s/./same", dir);
	CHECK(io_same_file(a.buf, b.buf));
	write_file(a.buf, "");
	CHECK(io_same_file(a.buf, b.buf));
	CHECK(!io_same_file(a.buf, in_dir("other")));
	CHECK(!io_same_file("one", "two"));
	CHECK_INT(link(a.buf, in_dir("linked")), 0);
	CHECK(io_same_file(a.buf, in_dir("linked")));
	CHECK(!io_same_file("/dev/null", "/dev/null"));
	strbuf_release(&a);
	strbuf_release(&b);
}

static void
full_disk(void)
{
	struct error err = ERROR_NONE;
	char *big = calloc(1, 2 << 20);
	struct outfile *f = outfile_open("/dev/full", &err);

	CHECK_OK(outfile_write(f, "abc", 3, &err), err);
	CHECK_ERROR(outfile_commit(f, &err), err, EXIT_CANNOT,
		    "/dev/full: No space left on device");
	f = outfile_open("/dev/full", &err);
	CHECK_OK(outfile_write(f, "abc", 3, &err), err);
	CHECK_ERROR(outfile_settle(f, &err), err, EXIT_CANNOT,
		    "/dev/full: No space left on device");
	outfile_drop(f);
	f = outfile_open("/dev/full", &err);
	CHECK_ERROR(outfile_write(f, big, 2 << 20, &err), err, EXIT_CANNOT,
		    "/dev/full: No space left on device");
	outfile_drop(f);
	CHECK(io_exists("/dev/full"));
	free(big);
}

static void
bad_places(void)
{
	struct error err = ERROR_NONE;
	char text[128];

	CHECK(!outfile_open("/nowhere/x", &err));
	CHECK_STR(err.text, "/nowhere/x: No such file or directory");
	CHECK(!outfile_open(dir, &err));
	snprintf(text, sizeof(text), "%s: Is a directory", dir);
	CHECK_STR(err.text, text);
}

static void
symbolic_link(void)
{
	struct error err = ERROR_NONE;
	struct strbuf sb = STRBUF_INIT, link = STRBUF_INIT;
	struct outfile *f;
	struct stat st;

	io_join(&link, dir, "link");
	write_file(in_dir("target"), "old");
	CHECK_INT(symlink("target", link.buf), 0);
	f = outfile_open(link.buf, &err);
	CHECK_OK(outfile_write(f, "new", 3, &err), err);
	CHECK_OK(outfile_commit(f, &err), err);
	CHECK_INT(lstat(link.buf, &st), 0);
	CHECK(S_ISLNK(st.st_mode));
	CHECK_OK(io_read_file(in_dir("target"), 0, &sb, &err), err);
	CHECK_STR(sb.buf, "new");
	strbuf_release(&sb);
	strbuf_release(&link);
}

static void
folder_whole_or_absent(void)
{
	struct error err = ERROR_NONE;
	struct strbuf tmp = STRBUF_INIT, path = STRBUF_INIT;
	char text[128];

	strbuf_addf(&path, "%s/set//", dir);
	CHECK_OK(outdir_begin(path.buf, &tmp, &err), err);
	CHECK(!io_exists(in_dir("set")));
	CHECK_OK(io_mkdir_p(io_join(&at, tmp.buf, "a/b"), &err), err);
	write_file(io_join(&at, tmp.buf, "a/b/c"), "1");
	CHECK_OK(outdir_commit(tmp.buf, path.buf, &err), err);
	CHECK(io_exists(in_dir("set/a/b/c")));
	CHECK(!io_exists(tmp.buf));

	snprintf(text, sizeof(text), "%s/set: already exists", dir);
	CHECK_ERROR(outdir_begin(path.buf, &tmp, &err), err, EXIT_CANNOT, text);

	io_remove_tree(in_dir("set"));
	CHECK(!io_exists(in_dir("set")));
	strbuf_release(&tmp);
	strbuf_release(&path);
}

static void
folder_that_came_meanwhile(void)
{
	struct error err = ERROR_NONE;
	struct strbuf tmp = STRBUF_INIT, path = STRBUF_INIT;
	char text[128];

	strbuf_addf(&path, "%s/raced", dir);
	CHECK_OK(outdir_begin(path.buf, &tmp, &err), err);
	CHECK_OK(io_mkdir_p(path.buf, &err), err);
	snprintf(text, sizeof(text), "%s: already exists", path.buf);
	CHECK_ERROR(outdir_commit(tmp.buf, path.buf, &err), err, EXIT_CANNOT,
		    text);
	CHECK(io_exists(tmp.buf));
	outdir_drop(tmp.buf);
	CHECK_INT(leftovers(), 0);
	strbuf_release(&tmp);
	strbuf_release(&path);
}

static void
remove_keeps_link_targets(void)
{
	struct error err = ERROR_NONE;
	struct strbuf link = STRBUF_INIT;

	CHECK_OK(io_mkdir_p(in_dir("tree/below"), &err), err);
	CHECK_OK(io_mkdir_p(in_dir("kept"), &err), err);
	write_file(in_dir("kept/file"), "1");
	io_join(&link, dir, "tree/link");
	CHECK_INT(symlink("../kept", link.buf), 0);
	io_remove_tree(in_dir("tree"));
	CHECK(!io_exists(in_dir("tree")));
	CHECK(io_exists(in_dir("kept/file")));
	io_remove_tree(in_dir("never there"));
	strbuf_release(&link);
}

static void
sweeping(void)
{
	static const char *const left[] = {"swept.tmp.1", "swept.tmp.4711"};
	static const char *const kept[] = {"swept", "swept.tmp.1x",
					   "swept2.tmp.1", "unswept.tmp.1"};
	struct error err = ERROR_NONE;

	for (size_t k = 0; k < 2; k++) {
		CHECK_OK(io_mkdir_p(in_dir(left[k]), &err), err);
		write_file(in_dir("swept.tmp.1/file"), "1");
	}
	for (size_t k = 0; k < 4; k++)
		CHECK_OK(io_mkdir_p(in_dir(kept[k]), &err), err);
	outdir_sweep(in_dir("swept"));
	for (size_t k = 0; k < 2; k++)
		CHECK(!io_exists(in_dir(left[k])));
	for (size_t k = 0; k < 4; k++) {
		CHECK(io_exists(in_dir(kept[k])));
		io_remove_tree(in_dir(kept[k]));
	}
	outdir_sweep(in_dir("no such folder/swept"));
}

static void
reading(void)
{
	struct error err = ERROR_NONE;
	struct strbuf sb = STRBUF_INIT;
	char text[128], two[2];
	int fd;

	write_file(in_dir("five"), "12345");
	strbuf_addstr(&sb, "0");
	CHECK_OK(io_read_file(in_dir("five"), 5, &sb, &err), err);
	CHECK_STR(sb.buf, "012345");
	snprintf(text, sizeof(text), "%s/five: larger than 4 bytes", dir);
	CHECK_ERROR(io_read_file(in_dir("five"), 4, &sb, &err), err,
		    EXIT_CORRUPT, text);
	CHECK_STR(sb.buf, "012345");
	CHECK_ERROR(io_read_file("/nowhere", 0, &sb, &err), err, EXIT_CANNOT,
		    "/nowhere: No such file or directory");

	fd = io_open_read(in_dir("five"), &err);
	CHECK_OK(io_pread_all(fd, two, 2, 3, "five", &err), err);
	CHECK_MEM(two, "45", 2);
	CHECK_ERROR(io_pread_all(fd, two, 2, 4, "five", &err), err,
		    EXIT_CORRUPT, "five: truncated at byte 5");
	close(fd);
	strbuf_release(&sb);
}

static void
making_folders(void)
{
	struct error err = ERROR_NONE;
	char text[128];

	CHECK_OK(io_mkdir_p(in_dir("m/n//o/"), &err), err);
	CHECK_OK(io_mkdir_p(in_dir("m/n"), &err), err);
	CHECK(io_exists(in_dir("m/n/o")));
	write_file(in_dir("file"), "");
	snprintf(text, sizeof(text), "%s/file: not a folder", dir);
	CHECK_ERROR(io_mkdir_p(in_dir("file"), &err), err, EXIT_CANNOT, text);
	CHECK_STR(io_join(&at, "/", "x"), "/x");
	CHECK_STR(io_join(&at, "a/", "x"), "a/x");
}

static void
frames(void)
{
	struct strbuf sb = STRBUF_INIT;
	struct frame f;
	size_t used, first;
	int wrong = 0;

	frame_add(&sb, 7, "payload", 7);
	first = sb.len;
	frame_add(&sb, 8, NULL, 0);
	CHECK_INT(first, FRAME_HEADER_BYTES + 7);
	CHECK_INT(frame_parse(sb.buf, sb.len, &f, &used), FRAME_OK);
	CHECK_INT(f.type, 7);
	CHECK_INT(f.payload_bytes, 7);
	CHECK_MEM(f.payload, "payload", 7);
	CHECK_INT(used, first);
	CHECK_INT(frame_parse(sb.buf + used, sb.len - used, &f, &used),
		  FRAME_OK);
	CHECK_INT(f.type, 8);
	CHECK_INT(frame_parse(sb.buf, 0, &f, &used), FRAME_END);
	for (size_t n = 1; n < first; n++)
		wrong += frame_parse(sb.buf, n, &f, &used) != FRAME_TORN;
	for (size_t bit = 0; bit < first * 8; bit++) {
		sb.buf[bit / 8] ^= (char)(1 << bit % 8);
		wrong += frame_parse(sb.buf, first, &f, &used) == FRAME_OK;
		sb.buf[bit / 8] ^= (char)(1 << bit % 8);
	}
	CHECK_INT(wrong, 0);
	strbuf_reset(&sb);
	frame_add(&sb, 0, "x", 1);
	CHECK_INT(frame_parse(sb.buf, sb.len, &f, &used), FRAME_BAD);
	strbuf_release(&sb);
}

static void
frames_of_a_file(void)
{
	struct error err = ERROR_NONE;
	struct strbuf sb = STRBUF_INIT, buf = STRBUF_INIT;
	struct frame f;
	int fd;

	strbuf_addstr(&sb, "xx");
	frame_add(&sb, 7, "payload", 7);
	fd = open(in_dir("frames"), O_RDWR | O_CREAT, 0666);
	CHECK_OK(io_write_all(fd, sb.buf, sb.len, "frames", &err), err);
	CHECK_OK(frame_pread(fd, "frames", 2, 31, &buf, &f, &err), err);
	CHECK_MEM(f.payload, "payload", 7);
	CHECK_ERROR(frame_pread(fd, "frames", 0, 31, &buf, &f, &err), err,
		    EXIT_CORRUPT, "frames: damaged frame at byte 0");
	CHECK_ERROR(frame_pread(fd, "frames", 2, 30, &buf, &f, &err), err,
		    EXIT_CORRUPT, "frames: damaged frame at byte 2");
	CHECK_ERROR(frame_pread(fd, "frames", 2, UINT64_MAX, &buf, &f, &err),
		    err, EXIT_CORRUPT,
		    "frames: truncated: no frame of 18446744073709551615 "
		    "bytes at byte 2");
	close(fd);
	strbuf_release(&sb);
	strbuf_release(&buf);
}

int
main(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%.40s/kp-io-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return 1;
	check_run("what killed processes left of a folder is swept up",
		  sweeping);
	check_run("an outfile takes its name, whole, at commit", commit);
	check_run("a dropped outfile leaves nothing behind", drop);
	check_run("a killed program leaves no file behind", killed);
	check_run("a file that came meanwhile is replaced", replaced);
	check_run("two names of one file are told", same_file);
	check_run("a full disk is told by write or commit", full_disk);
	check_run("an outfile that cannot be opened is named", bad_places);
	check_run("a symbolic link keeps pointing at the file written",
		  symbolic_link);
	check_run("an outdir is whole or absent and never replaces",
		  folder_whole_or_absent);
	check_run("an empty folder that came meanwhile is not replaced",
		  folder_that_came_meanwhile);
	check_run("removing a tree does not follow symbolic links",
		  remove_keeps_link_targets);
	check_run("a file is read whole, bounded, or not at all", reading);
	check_run("folders are made with their parents", making_folders);
	check_run("a frame is whole, torn, bad or the end", frames);
	check_run("a frame of a file is checked", frames_of_a_file);
	io_remove_tree(dir);
	strbuf_release(&at);
	return check_done();
}
