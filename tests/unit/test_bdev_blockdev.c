/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices of the host, of which a test has none: files of the name stand for
 * them. */
#include <fcntl.h>
#include <sys/sysmacros.h>

#include "tests/lib/node.h"

#define BY_ID "/dev/disk/by-id/"

/* Stands in the place of libc's.  The last letter is the number. */
int stat(const char *restrict path, struct stat *restrict ret)
{
	int rc = fstatat(AT_FDCWD, path, ret, 0);

	if (rc == 0 && strstr(path, BY_ID) != NULL) {
		ret->st_mode = S_IFBLK;
		ret->st_rdev = makedev(8, path[strlen(path) - 1] - 'a');
	}
	return rc;
}

TEST_NODE_SUITE(bdev_blockdev);

static json_t *device(const char *path)
{
	json_t *disk = test_disk("blockdev", path);

	json_object_set_new(disk, "logical_id",
			    json_make("[s, s]", "manual", path));
	return disk;
}

/* The master knows by these whether two names mean one device. */
Test(bdev_blockdev, the_numbers_of_a_device_are_told)
{
	auto_json json_t *all = NULL;
	auto_free char *text = NULL;

	test_node_write(&node, BY_ID "disk-c", "", 0600);
	all = test_node_ok(&node, "blockdev_getmirrorstatus_multi",
			   json_make("[[o, o]]", device(BY_ID "disk-c"),
				     device(BY_ID "gone")));
	text = json_text(all);
	cr_assert_str_eq(text,
			 "[[true,{\"dev_path\":\"" BY_ID "disk-c\","
			 "\"is_degraded\":false,\"ldisk_status\":1,"
			 "\"major\":8,\"minor\":2}],"
			 "[false,\"Can't find device [\\\"manual\\\",\\\"" BY_ID
			 "gone\\\"]\"]]");
}
