#include "exec/artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/frame.h"
#include "base/io.h"
#include "model/bundle.h"

#define LOOK_BYTES 256

static enum artifact
folder_kind(const char *path)
{
	struct strbuf sb = STRBUF_INIT;
	enum artifact kind = ARTIFACT_FOLDER;

	if (io_exists(io_join(&sb, path, "manifest.json")))
		kind = ARTIFACT_DATASET;
	else if (io_exists(io_join(&sb, path, "plan.json")))
		kind = ARTIFACT_RUN;
	strbuf_release(&sb);
	return kind;
}

static enum artifact
file_kind(const char *path)
{
	char head[LOOK_BYTES + 1] = "";
	struct error ignored;
	int fd;

	if (bundle_is(path))
		return ARTIFACT_BUNDLE;
	fd = io_open_read(path, &ignored);
	if (fd < 0)
		return ARTIFACT_FILE;
	if (pread(fd, head, LOOK_BYTES, 0) < 0)
		head[0] = '\0';
	close(fd);
	return head[strspn(head, " \t\r\n")] == '{' ? ARTIFACT_JSON
						    : ARTIFACT_FILE;
}

bool
artifact_is_frames(const char *path)
{
	char head[4] = "";
	struct error ignored;
	int fd = io_open_read(path, &ignored);
	bool is;

	if (fd < 0)
		return false;
	is = pread(fd, head, sizeof head, 0) == sizeof head &&
	     frame_begins(head);
	close(fd);
	return is;
}

enum artifact
artifact_of(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return ARTIFACT_ABSENT;
	if (S_ISDIR(st.st_mode))
		return folder_kind(path);
	return S_ISREG(st.st_mode) ? file_kind(path) : ARTIFACT_STREAM;
}

const char *
artifact_name(enum artifact kind)
{
	static const char *const name[] = {
	    [ARTIFACT_ABSENT] = "nothing",  [ARTIFACT_DATASET] = "a dataset",
	    [ARTIFACT_RUN] = "a run",	    [ARTIFACT_FOLDER] = "a folder",
	    [ARTIFACT_BUNDLE] = "a bundle", [ARTIFACT_JSON] = "a JSON file",
	    [ARTIFACT_FILE] = "a file",	    [ARTIFACT_STREAM] = "no file",
	};

	return name[kind];
}

static int
unexpected(const char *path, enum artifact is, enum artifact want,
	   struct error *err)
{
	static const char *const hint[] = {
	    [ARTIFACT_DATASET] = "a dataset (kp-featurize makes one)",
	    [ARTIFACT_RUN] = "a run (kp-train makes one)",
	    [ARTIFACT_BUNDLE] = "a bundle (kp-select -o makes one)",
	    [ARTIFACT_STREAM] = "a block stream (kp-shuffle makes one)",
	};

	if (want == ARTIFACT_JSON)
		return error_set(err, EXIT_CORRUPT,
				 "%s: neither a plan nor a dataset "
				 "(kp-featurize makes one)",
				 path);
	if (want == ARTIFACT_BUNDLE && is == ARTIFACT_RUN)
		return error_set(err, EXIT_CORRUPT,
				 "%s: a run; kp-select %s -o FILE makes its "
				 "bundle",
				 path, path);
	return error_set(err, EXIT_CORRUPT, "%s: %s, not %s", path,
			 artifact_name(is), hint[want]);
}

int
artifact_expect(const char *path, enum artifact want, struct error *err)
{
	enum artifact is = artifact_of(path);

	if (is == want)
		return 0;
	if (is == ARTIFACT_FILE && want == ARTIFACT_STREAM)
		return 0;
	if (is == ARTIFACT_STREAM &&
	    (want == ARTIFACT_BUNDLE || want == ARTIFACT_JSON))
		return 0;
	if (is == ARTIFACT_ABSENT)
		return error_sys(err, "%s", path);
	return unexpected(path, is, want, err);
}
