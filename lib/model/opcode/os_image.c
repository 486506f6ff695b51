/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks only the form of an image: it begins with '/' or with a known URL
 * scheme.  Whether it exists is for its node to find out.  User and password of
 * a URL stand between "://" and the last '@' before the path. */
#include "lib/model/opcode/os_image.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define PARAMETER "os-image"

const char *os_image_of(const json_t *osparams)
{
	const char *image = json_str(osparams, PARAMETER, "");

	return *image == '\0' ? NULL : image;
}

bool os_image_is_url(const char *image)
{
	static const char *const schemes[] = {"http://", "https://", "ftp://",
					      "ftps://"};

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (str_starts(image, schemes[i]))
			return true;
	return false;
}

char *os_image_shown(const char *image)
{
	const char *host = strstr(image, "://");
	const char *end, *at = NULL;

	if (host == NULL)
		return xstrdup(image);
	host += strlen("://");
	end = host + strcspn(host, "/?#");
	for (const char *c = host; c < end; c++)
		if (*c == '@')
			at = c;
	return at == NULL
		       ? xstrdup(image)
		       : xprintf("%.*s%s", (int)(host - image), image, at + 1);
}

char *os_image_transfer(const char *disk_uuid)
{
	return xprintf("image-%s", disk_uuid);
}

int os_image_check(const char *image, struct error *err)
{
	if (*image == '/' || os_image_is_url(image))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "OS image must be an absolute path or a URL (http, "
			 "https, ftp, ftps), not '%s'",
			 image);
}

int os_image_read(const json_t *osparams, const char **ret, struct error *err)
{
	*ret = json_get(osparams, PARAMETER) != NULL
		       ? json_str(osparams, PARAMETER, "")
		       : NULL;
	return *ret != NULL ? os_image_check(*ret, err) : 0;
}
