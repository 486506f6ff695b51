/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/sanitize.h"
#include "tests/lib/compat.h"

static json_t *parse(const char *text)
{
	struct error err;
	json_t *value = json_parse(text, strlen(text), &err);

	cr_assert_not_null(value, "%s", err.text);
	return value;
}

static void expect(const char *config, bool anonymous, const char *wanted)
{
	auto_json json_t *before = parse(config), *want = parse(wanted);
	auto_json json_t *got = sanitize_config(before, anonymous);

	compat_assert_same(got, want);
}

Test(sanitize, secrets_go_and_names_stay)
{
	expect("{\"cluster\":{\"cluster_name\":\"c.acme.org\","
	       "\"osparams\":{\"deb\":{\"size\":\"5\",\"root_password\":\"x\"}}"
	       ","
	       "\"osparams_private_cluster\":{\"deb\":{\"key\":[1]}},"
	       "\"zeroing_image\":\"http://me:pw@acme.org/a@b\","
	       "\"hvparams\":{\"kvm\":{\"vnc_password_file\":\"/etc/vnc\"}}},"
	       "\"instances\":{\"u\":{\"name\":\"web1\",\"osparams_private\":"
	       "{\"a\":\"b\",\"a/b\":\"c\"}}},"
	       "\"disks\":{\"d\":{\"logical_id\":[\"n\",\"m\",1,2,3,\"k\"],"
	       "\"params\":{\"api_token\":\"t\",\"empty_secret\":\"\"}}}}",
	       false,
	       "{\"cluster\":{\"cluster_name\":\"c.acme.org\","
	       "\"osparams\":{\"deb\":{\"size\":\"5\",\"root_password\":"
	       "\"hidden\"}},"
	       "\"osparams_private_cluster\":{\"deb\":{\"key\":\"hidden\"}},"
	       "\"zeroing_image\":\"http://acme.org/a@b\","
	       "\"hvparams\":{\"kvm\":{\"vnc_password_file\":\"/etc/vnc\"}}},"
	       "\"instances\":{\"u\":{\"name\":\"web1\",\"osparams_private\":"
	       "{\"a\":\"hidden\",\"a/b\":\"hidden\"}}},"
	       "\"disks\":{\"d\":{\"logical_id\":[\"n\",\"m\",1,2,3,\"\"],"
	       "\"params\":{\"api_token\":\"hidden\",\"empty_secret\":\"\"}}}"
	       "}");
}

/* What is used before it is defined has the new name as well. */
Test(sanitize, the_same_name_is_the_same_everywhere)
{
	expect("{\"cluster\":{\"hvparams\":{\"kvm\":{\"kernel_args\":"
	       "\"nfs=db.acme.org:/x mac=1\",\"spice_bind\":\"192.0.2.7\"}}},"
	       "\"disks\":{\"d\":{\"logical_id\":[\"loop\","
	       "\"/srv/web1/u.file\"],\"name\":\"root\"}},"
	       "\"instances\":{\"u\":{\"name\":\"web1\",\"hypervisor\":"
	       "\"fake\","
	       "\"osparams\":{\"a\":\"b\"},\"tags\":[\"owner:joe\"]},"
	       "\"v\":{\"name\":\"fake\",\"tags\":[\"owner:joe\"]}},"
	       "\"nodes\":{\"n\":{\"name\":\"db.acme.org\",\"primary_ip\":"
	       "\"192.0.2.7\",\"secondary_ip\":\"192.0.2.7\"}}}",
	       true,
	       "{\"cluster\":{\"hvparams\":{\"kvm\":{\"kernel_args\":"
	       "\"nfs=node1.example.com:/x mac=1\",\"spice_bind\":"
	       "\"198.18.0.1\"}}},"
	       "\"disks\":{\"d\":{\"logical_id\":[\"loop\","
	       "\"/srv/instance1.example.com/u.file\"],\"name\":\"disk1\"}},"
	       "\"instances\":{\"u\":{\"name\":\"instance1.example.com\","
	       "\"hypervisor\":\"fake\",\"osparams\":{\"a\":\"hidden\"},"
	       "\"tags\":[\"tag1\"]},"
	       "\"v\":{\"name\":\"instance2.example.com\",\"tags\":[\"tag1\"]}}"
	       ","
	       "\"nodes\":{\"n\":{\"name\":\"node1.example.com\","
	       "\"primary_ip\":\"198.18.0.1\",\"secondary_ip\":"
	       "\"198.18.0.1\"}}}");
}

Test(sanitize, an_address_keeps_its_place_in_its_network)
{
	expect("{\"instances\":{\"u\":{\"nics\":[{\"ip\":\"192.0.2.77\","
	       "\"mac\":\"aa:00:00:12:34:56\"},{\"ip\":\"2001:db8::5\","
	       "\"mac\":\"aa:00:00:12:34:56\"},{\"ip\":\"0.0.0.0\"}]}},"
	       "\"networks\":{\"n\":{\"name\":\"lan\",\"network\":"
	       "\"192.0.2.64/26\",\"gateway\":\"192.0.2.65\","
	       "\"reservations\":\"01\"}}}",
	       true,
	       "{\"instances\":{\"u\":{\"nics\":[{\"ip\":\"10.1.0.13\","
	       "\"mac\":\"aa:00:00:00:00:01\"},{\"ip\":\"fd00::2\","
	       "\"mac\":\"aa:00:00:00:00:01\"},{\"ip\":\"0.0.0.0\"}]}},"
	       "\"networks\":{\"n\":{\"name\":\"network1\",\"network\":"
	       "\"10.1.0.0/26\",\"gateway\":\"10.1.0.1\","
	       "\"reservations\":\"01\"}}}");
}

/* Of a whole one of Ganeti's: nothing of its names is left. */
Test(sanitize, nothing_of_a_real_cluster_is_left)
{
	auto_json json_t *before = compat_read("config.data");
	auto_json json_t *after = sanitize_config(before, true);
	auto_free char *text = json_text(after);

	cr_expect_null(strstr(text, "inst5.example.com"));
	cr_expect_null(strstr(text, "198.51.100."));
	cr_expect_null(strstr(text, "AAAAB3NzaC1yc2E="));
	cr_expect_not_null(strstr(text, "node1.example.com"));
	cr_expect_eq(json_object_size(json_get(after, "instances")),
		     json_object_size(json_get(before, "instances")));
}
